#!/bin/bash
# A program whose file is replaced by another keeps the names of what it runs, before or while it
# is recorded.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

programs=()
for name in early late; do
    cp "$WORKLOADS/burn" "$TMPDIR/$name"
    cp "$WORKLOADS/forks" "$TMPDIR/$name.new"
    start "$TMPDIR/$name" 60
    wait_until runs_program "$PID" "$name"
    programs+=("$PID")
done
mv "$TMPDIR/early.new" "$TMPDIR/early"
start_recording -F 1999 -o "$TMPDIR/all.folded"
mv "$TMPDIR/late.new" "$TMPDIR/late"
for program in "${programs[@]}"; do
    wait_for_cpu_time 1000 "$program"
done
stop_recording

for name in early late; do
    expect_near "share of burn_60 in $name" \
        "$(folded_share "$TMPDIR/all.folded" burn_60 "$name")" 60 8
done
