#!/bin/bash
# A program that is deleted, before or while it is recorded, keeps its names.
source "$(dirname "$0")/lib.sh"
need_recording

for name in early late; do
    cp "$WORKLOADS/burn" "$TMPDIR/$name"
    start "$TMPDIR/$name" 60
    wait_until runs_program "$PID" "$name"
done
rm "$TMPDIR/early"
start_recording -F 1999 -o "$TMPDIR/all.folded"
rm "$TMPDIR/late"
sleep 2
stop_recording

for name in early late; do
    expect_near "share of burn_60 in $name" \
        "$(folded_share "$TMPDIR/all.folded" burn_60 "$name")" 60 8
done
