#!/bin/bash
# A command is recorded from its first instruction on, and our own work before it is not.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

for run in {1..8}; do
    record -F 9999 -o "$TMPDIR/$run.folded" -- "$WORKLOADS/short_lived"
done
cat "$TMPDIR"/*.folded >"$TMPDIR/all.folded"
expect_frame "$TMPDIR/all.folded" short_lived_burn 30
expect_near "share of the command" "$(folded_share "$TMPDIR/all.folded" short_lived)" 100 0

# The dynamic linker runs before main, for a millisecond or less: who begins later than at the first
# instruction never meets it there.
linked=$(folded_match "$TMPDIR/all.folded" '^short_lived;(\[?ld-|_dl_start_user|_start;_dl_start)')
echo "$linked samples before main"
((linked >= 1)) || fail "no sample of what runs before main: $(head -n 20 "$TMPDIR/all.folded")"
