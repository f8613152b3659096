#!/bin/bash
# Whole stacks of a real Python that makes trampolines: its functions by name, in their order.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
source "$(dirname "$0")/own_tmp.sh"
source "$(dirname "$0")/python.sh"

python=$(find_python) || skip "needs a Python that has -X perf (package python3, 3.12 or newer)"
cat >"$own_tmp/x.py" <<'END'
import time
def leaf(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def middle(seconds):
    leaf(seconds)
def outer(seconds):
    middle(seconds)
outer(1.5)
END
# Without the names that the interpreter itself has, in whose place no trampolines would be.
record -F 499 --runtime-frames native -o "$TMPDIR/py.folded" --stats "$TMPDIR/py.json" -- "${in_own_tmp[@]}" "$python" -X perf x.py
complete=$(stats_get "$TMPDIR/py.json" user_stacks.complete)
samples=$(stats_get "$TMPDIR/py.json" samples)
echo "$python: $complete of $samples complete"
# Without the rule hardly one in a hundred is. Until the interpreter's table is built, samples are
# walked afterwards, when the trampolines' code cannot be read: a busy machine takes long for that.
((complete >= samples * 90 / 100)) || fail "stacks of $python are not whole"
expect_every_stack "$TMPDIR/py.folded" 'py::leaf:' '^python3[^;]*;.*;py::<module>:.*;py::outer:.*;py::middle:.*;py::leaf:'
(($(folded_match "$TMPDIR/py.folded" 'py::outer:.*;py::leaf:') >= 500)) || fail "there are too few stacks of leaf"
