#!/bin/bash
# A program whose functions use 60, 30 and 10 % of its CPU time shows these shares.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
keep_cpus_busy
record -F 1999 -o "$TMPDIR/burn.folded" --stats "$TMPDIR/stats.json" -- "$WORKLOADS/burn" 2.5
expected=$(expected_samples 2500 "$TMPDIR/stats.json")
expect_near "samples of burn" "$(folded_count "$TMPDIR/burn.folded" burn)" "$expected" $((expected / 10))
expect_share "$TMPDIR/burn.folded" burn_60 burn 60 4997
expect_share "$TMPDIR/burn.folded" burn_30 burn 30 4997
expect_share "$TMPDIR/burn.folded" burn_10 burn 10 4997
expect_frame "$TMPDIR/burn.folded" "main;burn_60"
