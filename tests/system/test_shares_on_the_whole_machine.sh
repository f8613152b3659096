#!/bin/bash
# The shares are the same when everything is recorded and the program ran before.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
keep_cpus_busy

start "$WORKLOADS/burn" 60
program=$PID
wait_until runs_program "$program" burn
before=$(cpu_ms "$program")
record_cpu_time 2000 "$program" -F 1999 --root pid -o "$TMPDIR/all.folded" --stats "$TMPDIR/all.json"
used=$(($(cpu_ms "$program") - before))
# Some was used before the first tick and after the last one.
expect_between "samples of burn in $used ms" "$(folded_count "$TMPDIR/all.folded" "burn-$program")" \
    $(($(expected_samples 2000 "$TMPDIR/all.json") * 9 / 10)) \
    $(($(expected_samples "$used" "$TMPDIR/all.json") * 11 / 10))
expect_share "$TMPDIR/all.folded" burn_60 "burn-$program" 60 3998
expect_share "$TMPDIR/all.folded" burn_30 "burn-$program" 30 3998
expect_share "$TMPDIR/all.folded" burn_10 "burn-$program" 10 3998
