#!/bin/bash
# -t: only the wanted threads.
source "$(dirname "$0")/lib.sh"
need_recording

start "$WORKLOADS/threads" 60 3
program=$PID
wait_until has_thread "$program" worker-c

record -F 499 -d 1 -t "$(find_thread "$program" worker-b)" -o "$TMPDIR/one.folded"
expect_frame "$TMPDIR/one.folded" work_b 50
expect_near "share of worker-b" "$(folded_share "$TMPDIR/one.folded" worker-b)" 100 0

record -F 499 -d 1 -t "$(find_thread "$program" worker-a),$(find_thread "$program" worker-c)" -o "$TMPDIR/two.folded"
expect_frame "$TMPDIR/two.folded" work_a 50
expect_frame "$TMPDIR/two.folded" work_c 50
expect_no_frame "$TMPDIR/two.folded" work_b

# The thread ends, and the recording with it.
start "$WORKLOADS/threads" 2 1
program=$PID
wait_until has_thread "$program" worker-a
SECONDS=0
record -d 30 -t "$(find_thread "$program" worker-a)" -o "$TMPDIR/ended.folded"
((SECONDS < 10)) || fail "the recording went on after its thread had ended"
