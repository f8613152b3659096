#!/bin/bash
# A program whose file is replaced by another keeps the names of what it runs, before or while it
# is recorded.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

programs=()
for name in replaced_early replaced_late; do
    cp "$WORKLOADS/burn" "$TMPDIR/$name"
    cp "$WORKLOADS/forks" "$TMPDIR/$name.new"
    start "$TMPDIR/$name" 60
    wait_until runs_program "$PID" "$name"
    programs+=("$PID")
done
mv "$TMPDIR/replaced_early.new" "$TMPDIR/replaced_early"
start_recording -F 1999 -o "$TMPDIR/all.folded"
mv "$TMPDIR/replaced_late.new" "$TMPDIR/replaced_late"
wait_for_cpu_times 500 "${programs[@]}"
stop_recording

for name in replaced_early replaced_late; do
    expect_share "$TMPDIR/all.folded" burn_60 "$name" 60 999
done
