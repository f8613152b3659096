#!/bin/bash
# A program whose functions use 60, 30 and 10 % of its CPU time shows these shares.
source "$(dirname "$0")/lib.sh"
need_recording

# Ahead of whatever else this machine does: the shares want many samples.
record -F 999 -o "$TMPDIR/burn.folded" -- nice -n -10 "$WORKLOADS/burn" 5
expect_between "samples of burn" "$(folded_count "$TMPDIR/burn.folded" burn)" 2000 5200
expect_near "share of burn_60" "$(folded_share "$TMPDIR/burn.folded" burn_60 burn)" 60 3
expect_near "share of burn_30" "$(folded_share "$TMPDIR/burn.folded" burn_30 burn)" 30 3
expect_near "share of burn_10" "$(folded_share "$TMPDIR/burn.folded" burn_10 burn)" 10 3
expect_frame "$TMPDIR/burn.folded" "main;burn_60"
