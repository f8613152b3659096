#!/bin/bash
# -a -- COMMAND: everything is recorded, as long as the command runs; its status is still ours.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

start "$WORKLOADS/burn" 60
expect_status 3 "$STACKWIDE" record -a -F 499 -o "$TMPDIR/out.folded" -- \
    sh -c '"$1" 1; exit 3' - "$WORKLOADS/deep"
expect_frame "$TMPDIR/out.folded" burn_60 100
expect_frame "$TMPDIR/out.folded" level_65 100
