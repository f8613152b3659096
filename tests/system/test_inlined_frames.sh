#!/bin/bash
# Inlined calls are frames, marked _[i]; --no-inline and --no-annotations switch that off.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# Of what main does: before it comes the dynamic linker, on some machines for long.
run() {
    record -F 999 "$@" -o "$TMPDIR/out.folded" -- "$WORKLOADS/inlined" 0.5
    expect_frame "$TMPDIR/out.folded" main 30
}

run
expect_between "share of the inlined chain" \
    "$(folded_share "$TMPDIR/out.folded" 'main;outer;middle_i_[i];inner_i_[i]' main)" 90 100

run --no-annotations
expect_between "share of the chain without marks" \
    "$(folded_share "$TMPDIR/out.folded" 'main;outer;middle_i;inner_i' main)" 90 100
! grep -E '_\[[kij]\]' "$TMPDIR/out.folded" || fail "marks although they are off"

run --no-inline
expect_between "share of outer" "$(folded_share "$TMPDIR/out.folded" 'main;outer' main)" 90 100
! grep -F '_[i]' "$TMPDIR/out.folded" || fail "inlined frames although they are off"
! grep -F inner_i "$TMPDIR/out.folded" || fail "inlined frames although they are off"
