#!/bin/bash
# Stacks of a program that was executed out of memory, and has no file, are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

cat >"$TMPDIR/run.py" <<'PYTHON'
import os, sys
memory = os.memfd_create("nowhere")
with open(sys.argv[1], "rb") as file:
    os.write(memory, file.read())
os.execve(memory, ["nowhere", "2"], os.environ)
PYTHON
expect_deep memfd python3 "$TMPDIR/run.py" "$WORKLOADS/nofp_deep"
expect_frame "$TMPDIR/memfd.folded" "$(seq -f 'level_%02g' -s ';' 0 65)" 20
