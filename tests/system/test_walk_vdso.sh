#!/bin/bash
# Stacks in the vdso, code that no file holds, are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_walk nofp_vdso 1.5
folded=$TMPDIR/nofp_vdso.folded
# main itself reads the clock once, before all others.
expect_every_stack "$folded" ';__vdso_clock_gettime[; ]' \
    "$(way_to_main nofp_vdso);(read_clocks;)?(read_clock_ns_\[i\];)?([^;]+;)?__vdso_clock_gettime"
expect_between "share of read_clocks in the vdso" \
    "$(folded_share "$folded" read_clocks __vdso_clock_gettime)" 99 100
expect_between "share of the vdso" "$(folded_share "$folded" __vdso_clock_gettime)" 20 100
