#!/bin/bash
# A chain of 66 known calls comes out whole and in order, from a static program too.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

chain=main
for level in $(seq 0 65); do
    chain="$chain;level_$level"
done
record -F 499 -o "$TMPDIR/deep.folded" -- "$WORKLOADS/deep" 1
expect_frame "$TMPDIR/deep.folded" "$chain" 30
expect_between "share of the whole chain" "$(folded_share "$TMPDIR/deep.folded" "$chain" main)" 98 100

[[ -x $WORKLOADS/deep_static ]] || skip "needs a static libc (package libc6-dev) when the tests are built"
record -F 499 -o "$TMPDIR/static.folded" -- "$WORKLOADS/deep_static" 1
expect_frame "$TMPDIR/static.folded" "$chain" 30
expect_between "share of the whole chain, static" \
    "$(folded_share "$TMPDIR/static.folded" "$chain" main)" 98 100
