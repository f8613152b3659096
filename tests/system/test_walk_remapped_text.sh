#!/bin/bash
# A program puts a copy of its text, in anonymous memory or in a memfd, in the place of that: its stacks are whole, and have
# their names, whether it was seen to start or had done so before.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_walk nofp_remap 1.5
chain=$(printf ';burn_down%.0s' $(seq 9))
expect_every_stack "$TMPDIR/nofp_remap.folded" ';burn_down[; ]' "$(way_to_main nofp_remap);burn_down"
expect_frame "$TMPDIR/nofp_remap.folded" "main$chain" 50

start "$WORKLOADS/nofp_remap" 60
wait_for_cpu_time 100 "$PID"
record_cpu_time 1000 "$PID" -F 999 --no-inline -p "$PID" -o "$TMPDIR/late.folded" --stats "$TMPDIR/late.json"
expect_account_adds_up "$TMPDIR/late.json"
echo "seen late: $(stats_get "$TMPDIR/late.json" user_stacks.complete) whole;" \
    "cut: $(list_reasons "$TMPDIR/late.json")"
(($(stats_get "$TMPDIR/late.json" user_stacks.complete) >= 20)) || fail "few are whole"
expect_every_stack "$TMPDIR/late.folded" ';burn_down[; ]' "$(way_to_main nofp_remap);burn_down"
expect_frame "$TMPDIR/late.folded" "main$chain" 20
expect_whole "$TMPDIR/late.folded" "$TMPDIR/late.json" late 97 99

# In a memfd.
record -F 999 --no-inline -o "$TMPDIR/file.folded" --stats "$TMPDIR/file.json" -- "$WORKLOADS/nofp_remap" 0.5 memfd
expect_every_stack "$TMPDIR/file.folded" ';burn_down[; ]' "$(way_to_main nofp_remap);burn_down"
expect_whole "$TMPDIR/file.folded" "$TMPDIR/file.json" memfd 97 99
