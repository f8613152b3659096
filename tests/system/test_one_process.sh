#!/bin/bash
# -p: only the wanted processes, with threads and children that they start; ends with them.
source "$(dirname "$0")/lib.sh"
need_recording

start "$WORKLOADS/syscalls" 60
other=$PID
start "$WORKLOADS/burn" 60
first=$PID
start "$WORKLOADS/deep" 60
second=$PID

record -F 1999 -d 1 -p "$first" -o "$TMPDIR/one.folded"
expect_near "share of burn" "$(folded_share "$TMPDIR/one.folded" burn)" 100 0
expect_near "share of burn_60" "$(folded_share "$TMPDIR/one.folded" burn_60)" 60 8

record -F 1999 -d 1 -p "$first,$second" -o "$TMPDIR/two.folded"
expect_frame "$TMPDIR/two.folded" burn_60 30
expect_frame "$TMPDIR/two.folded" level_65 30
expect_no_frame "$TMPDIR/two.folded" hammer_kernel

# New children of the process belong to it.
kill "$other" "$first" "$second"
start sh -c 'until [ -e "$2" ]; do sleep 0.1; done; "$1" 2; exit 0' - "$WORKLOADS/forks" "$TMPDIR/begin"
SECONDS=0
start_recording -F 1999 -d 120 -p "$PID" -o "$TMPDIR/children.folded"
touch "$TMPDIR/begin"
end_recording
((SECONDS < 60)) || fail "the recording went on after its process had ended"
expect_frame "$TMPDIR/children.folded" parent_burn 100
expect_frame "$TMPDIR/children.folded" child_burn 100
