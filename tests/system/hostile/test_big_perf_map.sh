#!/bin/bash
# A user lets a process write a perf-map of hundreds of megabytes: what is kept of it has a limit, and
# the recording says which process came to it.
# runs: beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/unharmed.sh"
need_recording

start "$WORKLOADS/hostile/big_perf_map" 60 200 >"$TMPDIR/written"
big=$PID
trap 'rm -f "/tmp/perf-$big.map"; stop_background' EXIT
wait_until test -s "$TMPDIR/written"
record -F 499 -p "$big" -d 8 --stats "$TMPDIR/stats.json" -o "$TMPDIR/x.folded"
expect_small 250
# What came before the limit still has its name.
expect_frame "$TMPDIR/x.folded" 'jit_true_[j]' 100
[[ $(stats_get "$TMPDIR/stats.json" processes.cut_code_maps) = 1 ]] || fail "the cut is not counted"
grep -q "big_perf_map-$big" "$TMPDIR/record.err" || fail "nothing is said of the process"
