#!/bin/bash
# -t: only the wanted threads.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

start "$WORKLOADS/threads" 60 3
program=$PID
wait_until has_thread "$program" worker-c

# record_threads FILE LETTER…: until each has used a quarter of a second
record_threads() {
    local file=$1 letter tid tids=()
    shift
    for letter in "$@"; do
        tids+=("$(find_thread "$program" "worker-$letter")")
    done
    start_recording -F 999 -t "$(IFS=, && echo "${tids[*]}")" -o "$file"
    for tid in "${tids[@]}"; do
        wait_for_cpu_time 250 "$program" "$tid"
    done
    stop_recording
}

record_threads "$TMPDIR/one.folded" b
expect_frame "$TMPDIR/one.folded" work_b 50
expect_near "share of worker-b" "$(folded_share "$TMPDIR/one.folded" worker-b)" 100 0

record_threads "$TMPDIR/two.folded" a c
expect_frame "$TMPDIR/two.folded" work_a 50
expect_frame "$TMPDIR/two.folded" work_c 50
expect_no_frame "$TMPDIR/two.folded" work_b
kill "$program"

# The thread ends, and the recording with it: one that went on would do so until the runner ends it.
start "$WORKLOADS/threads" 2 1
program=$PID
wait_until has_thread "$program" worker-a
record -d 1h -t "$(find_thread "$program" worker-a)" -o "$TMPDIR/ended.folded"
