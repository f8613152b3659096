#!/bin/bash
# With a ring much too small samples are lost, every one of them is counted, and the sum holds.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

for _ in $(seq "$(nproc)"); do
    start "$WORKLOADS/deep" 60
    start "$WORKLOADS/spawn" 60 "$WORKLOADS/short_lived" >/dev/null
done
record -F 19999 -d 2 --buffer-size 4096 -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
expect_account_adds_up "$TMPDIR/stats.json"
expect_between "lost samples" "$(stats_get "$TMPDIR/stats.json" lost)" 1 1e9
[[ $(stats_get "$TMPDIR/stats.json" samples) = "$(folded_total "$TMPDIR/out.folded")" ]] ||
    fail "samples differ from the sum of the folded file"
grep -qi lost "$TMPDIR/record.err" || fail "the summary does not tell: $(cat "$TMPDIR/record.err")"
