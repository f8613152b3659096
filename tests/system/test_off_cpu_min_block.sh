#!/bin/bash
# --min-block: shorter intervals are in no sample and in no sum but their own, and each is counted.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

min_block_us=6000 period_us=100
record --off-cpu --period "${period_us}us" --min-block "${min_block_us}us" --buffer-size 64M -o "$TMPDIR/waits.folded" \
    --stats "$TMPDIR/stats.json" -- "$WORKLOADS/nofp_waits" 1
stats=$TMPDIR/stats.json
expect_account_adds_up "$stats"
expect_off_cpu_adds_up "$stats"
stats_get "$stats" off_cpu.min_block_ns off_cpu.below_min_block off_cpu.below_min_block_ns off_cpu.below_period \
    off_cpu.samples off_cpu.sampled_ns off_cpu.coverage_percent >"$TMPDIR/values"
{ read -r min_block_ns && read -r below && read -r below_ns && read -r below_period && read -r samples &&
    read -r sampled_ns && read -r coverage; } <"$TMPDIR/values"
echo "$samples samples of $sampled_ns ns, $below intervals of $below_ns ns left out"
((min_block_ns == min_block_us * 1000)) || fail "the least interval is $min_block_ns ns"
((samples > 0)) || fail "nothing is left"
# What the program waits is in part half a millisecond at a time.
((below > 100 && below_ns > 0 && below_ns < below * min_block_ns)) ||
    fail "$below intervals of $below_ns ns are not shorter than $min_block_ns ns each"
# An interval that counts has more than a period, and as many as fit into it, or one less.
((below_period == 0)) || fail "$below_period intervals that count are below the period"
((sampled_ns >= samples * (min_block_us - period_us) * 1000)) ||
    fail "$samples samples stand for $sampled_ns ns: for less than $min_block_us us each"
expect_near "sampled part of the off-CPU time" "$coverage" 100 2
expect_frame "$TMPDIR/waits.folded" wait_sleep
grep -q "skipped, in $below waits below 6 ms" "$TMPDIR/record.err" || fail "the summary does not say so"
