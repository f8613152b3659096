#!/bin/bash
# Idle time is counted, but is no sample.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

# In hundredths of a second, all CPUs together.
idle_time() { awk '$1 == "cpu" { print $5 + $6 }' /proc/stat; }

start_recording -F 499 -a --root pid -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
before=$(idle_time)
sleep 2
idle=$(($(idle_time) - before))
stop_recording
! grep -E '^(swapper|[^;]*-0;)' "$TMPDIR/out.folded" || fail "the idle task has samples"
((idle > 60)) || skip "the machine was hardly ever idle"
expect_between "idle ticks" "$(stats_get "$TMPDIR/stats.json" idle)" 1 1e9
