#!/bin/bash
# Every thread's samples stand under its own name.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

record -F 499 -o "$TMPDIR/threads.folded" -- "$WORKLOADS/threads" 2 3
for letter in a b c; do
    expect_frame "$TMPDIR/threads.folded" "worker-$letter" 100
    expect_near "share of work_$letter under worker-$letter" \
        "$(folded_share "$TMPDIR/threads.folded" "work_$letter" "worker-$letter")" 100 3
done
