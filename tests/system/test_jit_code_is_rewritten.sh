#!/bin/bash
# Code that a program makes again at the same address has the name of its time: by the growth of its
# perf-map, and by the times in its jitdump; also when it writes the whole file again without a shorter
# one between, changes only its middle and adds to its end, or puts another file in its place. The program itself says how long each ran.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
source "$(dirname "$0")/own_tmp.sh"

cp "$WORKLOADS/rewrites" "$own_tmp"
status=0
"${in_own_tmp[@]}" ./rewrites 0.1 map >"$TMPDIR/used" || status=$?
((status != 77)) || skip "the workload has no code for this machine"
((status == 0)) || fail "the workload ended with status $status"

for kind in map dump foreign-dump anew-map anew-dump next-map next-dump middle-map; do
    seconds=1
    [[ $kind = *-* && $kind != foreign-dump ]] && seconds=2.4
    record -F 999 -o "$TMPDIR/$kind.folded" -- "${in_own_tmp[@]}" ./rewrites "$seconds" "$kind" >"$TMPDIR/used"
    truth=$(awk '{ printf "%.2f\n", 100 * $1 / ($1 + $2) }' "$TMPDIR/used")
    expect_near "$kind: share of gen_even" \
        "$(folded_share "$TMPDIR/$kind.folded" "gen_even_[j]" "run_code")" "$truth" 10
    expect_near "$kind: share of gen_odd" \
        "$(folded_share "$TMPDIR/$kind.folded" "gen_odd_[j]" "run_code")" \
        "$(awk -v even="$truth" 'BEGIN { print 100 - even }')" 10
done

# Somebody else's would name things as they like.
record -F 999 -o "$TMPDIR/foreign.folded" -- "${in_own_tmp[@]}" ./rewrites 0.5 dump 65534 >"$TMPDIR/used"
! grep -F 'gen_' "$TMPDIR/foreign.folded" || fail "took a jitdump that belongs to another user"
expect_frame "$TMPDIR/foreign.folded" "run_code;[anon]" 30
