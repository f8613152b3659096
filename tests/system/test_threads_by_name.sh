#!/bin/bash
# Every thread's samples stand under its own name.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

record -F 999 -o "$TMPDIR/threads.folded" -- "$WORKLOADS/threads" 1 3
for letter in a b c; do
    expect_frame "$TMPDIR/threads.folded" "worker-$letter" 50
    expect_share "$TMPDIR/threads.folded" "work_$letter" "worker-$letter" 99.5
done
