#!/bin/bash
# -p: only the wanted processes, with threads and children that they start; ends with them.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

start "$WORKLOADS/syscalls" 60
other=$PID
start "$WORKLOADS/burn" 60
first=$PID
start "$WORKLOADS/deep" 60
second=$PID

record_cpu_time 500 "$first" -F 1999 -p "$first" -o "$TMPDIR/one.folded"
expect_near "share of burn" "$(folded_share "$TMPDIR/one.folded" burn)" 100 0
expect_share "$TMPDIR/one.folded" burn_60 burn 60 999

start_recording -F 1999 -p "$first,$second" -o "$TMPDIR/two.folded"
wait_for_cpu_times 300 "$first" "$second"
stop_recording
expect_frame "$TMPDIR/two.folded" burn_60 100
expect_frame "$TMPDIR/two.folded" level_65 200
expect_no_frame "$TMPDIR/two.folded" hammer_kernel

# New children of the process belong to it.
kill "$other" "$first" "$second"
start sh -c 'until [ -e "$2" ]; do sleep 0.1; done; "$1" 1; exit 0' - "$WORKLOADS/forks" "$TMPDIR/begin"
# A recording that went on would go on until the runner ends it.
start_recording -F 1999 -d 1h -p "$PID" -o "$TMPDIR/children.folded"
touch "$TMPDIR/begin"
end_recording
expect_frame "$TMPDIR/children.folded" parent_burn 100
expect_frame "$TMPDIR/children.folded" child_burn 100
