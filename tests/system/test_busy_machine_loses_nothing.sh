#!/bin/bash
# At 999 Hz with every CPU busy nothing is lost.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

for _ in $(seq "$(nproc)"); do
    start "$WORKLOADS/deep" 60
done
record -F 999 -d 5 -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
expect_account_adds_up "$TMPDIR/stats.json"
[[ $(stats_get "$TMPDIR/stats.json" lost) = 0 ]] || fail "lost samples: $(cat "$TMPDIR/stats.json")"
