#!/bin/bash
# Python functions are named from the interpreter's perf-map, marked _[j].
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
source "$(dirname "$0")/own_tmp.sh"
source "$(dirname "$0")/python.sh"

python=$(find_python) || skip "needs a Python that has -X perf (package python3, 3.12 or newer)"
cat >"$own_tmp/hot.py" <<'PYTHON'
import time

def hot_in_python(n):
    total = 0
    for i in range(n):
        total = (total * 31 + i) & 0xffffffff
    return total

while time.process_time() < 3:
    hot_in_python(100000)
PYTHON

start "${in_own_tmp[@]}" "$python" -X perf hot.py
# Without the names that the interpreter itself has, in whose place nothing of it would be.
record -F 499 -d 100 -p "$PID" --runtime-frames native -o "$TMPDIR/out.folded"
# The program does nothing else from when it is called on.
grep -E ';[^;]*<module>[^;]*_\[j\];' "$TMPDIR/out.folded" >"$TMPDIR/module.folded" ||
    fail "no code of Python has a name: $(head -n 3 "$TMPDIR/out.folded")"
total=$(folded_total "$TMPDIR/module.folded")
named=$(folded_match "$TMPDIR/module.folded" ';[^;]*hot_in_python[^;]*_\[j\]')
echo "$named of $total samples are in hot_in_python"
((named >= 30 && named * 10 >= total * 9)) || fail "$named of $total samples are in hot_in_python"
