#!/bin/bash
# User stacks of a Python interpreter are whole: in deep recursion, in JSON and regular expressions.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
# The distribution's own, built without frame pointers, before any that was put in front of it.
python=/usr/bin/python3
[[ -x $python ]] || python=$(command -v python3) || skip "needs python3 (package python3), which is not installed"

expect_whole_load python-recursion 98.8 99.8 1999 "$python" -c '
import time
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
def deep(n):
    return sorted([n, 1], key=lambda x: deep(n - 1) if x == n and n else 0)[0]
end = time.monotonic() + 1.75
while time.monotonic() < end:
    fibonacci(18)
    deep(40)
'
expect_whole_load python-json 98.8 99.8 1999 "$python" -c '
import json, re, time
data = [{"name": f"item {i}", "values": list(range(i % 20)), "on": i % 3 == 0} for i in range(500)]
end = time.monotonic() + 1.75
while time.monotonic() < end:
    text = json.dumps(data, indent=1)
    assert len(json.loads(text)) == 500
    re.sub(r"(\w+) (\d+)", lambda match: match.group(2) + match.group(1), text)
'
