#!/bin/bash
# A process with 30,000 mappings of code that forks all the time: the recorder does not keep them once
# for each child.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/unharmed.sh"
need_recording

start "$WORKLOADS/hostile/forks_with_maps" 60 30000 >"$TMPDIR/mapped"
wait_until test -s "$TMPDIR/mapped"
start "$WORKLOADS/nofp_deep" 60
record -F 99 -a -d 6 --stats "$TMPDIR/stats.json" -o "$TMPDIR/x.folded"
forks=$(stats_get "$TMPDIR/stats.json" processes.forks)
echo "$forks forks"
((forks >= 300)) || fail "only $forks forks"
expect_small 200
expect_frame "$TMPDIR/x.folded" main 20
