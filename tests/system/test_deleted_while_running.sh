#!/bin/bash
# A program that is deleted, before or while it is recorded, keeps its names.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

programs=()
for name in deleted_early deleted_late; do
    cp "$WORKLOADS/burn" "$TMPDIR/$name"
    start "$TMPDIR/$name" 60
    wait_until runs_program "$PID" "$name"
    programs+=("$PID")
done
rm "$TMPDIR/deleted_early"
start_recording -F 1999 -o "$TMPDIR/all.folded"
rm "$TMPDIR/deleted_late"
wait_for_cpu_times 500 "${programs[@]}"
stop_recording

for name in deleted_early deleted_late; do
    expect_share "$TMPDIR/all.folded" burn_60 "$name" 60 999
done
