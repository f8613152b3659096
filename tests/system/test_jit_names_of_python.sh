#!/bin/bash
# Python functions are named from the interpreter's perf-map, marked _[j].
source "$(dirname "$0")/lib.sh"
need_recording

# The first interpreter that can write perf-maps.
find_python() {
    local candidates=("${PYTHON:-}" python3 python3.14 python3.13 python3.12) python
    if command -v pyenv >/dev/null; then
        candidates+=("$(pyenv root)"/versions/3.1[2-9]*/bin/python3)
    fi
    for python in "${candidates[@]}"; do
        # It leaves a perf-map of its own.
        if [[ -n $python ]] && "$python" -X perf -c 'import os, sys
active = sys.is_stack_trampoline_active()
os.unlink(f"/tmp/perf-{os.getpid()}.map")
sys.exit(not active)' >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
    return 1
}
python=$(find_python) || skip "no Python interpreter that has -X perf (3.12 or newer)"
# Its trampolines are never innermost: the walk has to get out of the interpreter first.
"$python" -c 'import sys, sysconfig
sys.exit("-fno-omit-frame-pointer" not in sysconfig.get_config_var("CFLAGS"))' ||
    "$STACKWIDE" help record | grep -Eq -- '--user-stacks.*table' ||
    skip "this Python is built without frame pointers, and stacks are walked by these only"

cat >"$TMPDIR/hot.py" <<'PYTHON'
import time

def hot_in_python(n):
    total = 0
    for i in range(n):
        total = (total * 31 + i) & 0xffffffff
    return total

end = time.monotonic() + 3
while time.monotonic() < end:
    hot_in_python(100000)
PYTHON
remove_maps() {
    stop_background
    find /tmp -maxdepth 1 -name "perf-$PID.map" -user "$(id -u)" -delete
}
trap remove_maps EXIT

start "$python" -X perf "$TMPDIR/hot.py"
record -F 499 -d 30 -p "$PID" -o "$TMPDIR/out.folded"
expect_between "samples in hot_in_python" \
    "$(folded_match "$TMPDIR/out.folded" ';[^;]*hot_in_python[^;]*_\[j\]')" 300 3000
