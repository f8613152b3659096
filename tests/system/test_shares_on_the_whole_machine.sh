#!/bin/bash
# The shares are the same when everything is recorded and the program ran before.
source "$(dirname "$0")/lib.sh"
need_recording

# Ahead of whatever else this machine does: the shares want many samples.
start nice -n -10 "$WORKLOADS/burn" 60
wait_until runs_program "$PID" burn
record -F 999 -d 5 --root pid -o "$TMPDIR/all.folded"
expect_between "samples of burn" "$(folded_count "$TMPDIR/all.folded" "burn-$PID")" 2000 5200
expect_near "share of burn_60" "$(folded_share "$TMPDIR/all.folded" burn_60 "burn-$PID")" 60 3
expect_near "share of burn_30" "$(folded_share "$TMPDIR/all.folded" burn_30 "burn-$PID")" 30 3
expect_near "share of burn_10" "$(folded_share "$TMPDIR/all.folded" burn_10 "burn-$PID")" 10 3
