#!/bin/bash
# Stacks through functions that realign their stack are whole: the caller's frame is found by way
# of a pointer in memory.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command readelf
readelf --debug-dump=frames "$WORKLOADS/nofp_drap" | has_line 'DW_CFA_def_cfa_expression (DW_OP_breg6' ||
    skip "this compiler has another way to realign a stack"

record_walk nofp_drap 1.5
folded=$TMPDIR/nofp_drap.folded
beginning=$(way_to_main nofp_drap)
expect_every_stack "$folded" ';aligned_outer[; ]' "$beginning;aligned_outer"
expect_every_stack "$folded" ';aligned_middle[; ]' "$beginning;aligned_outer;aligned_middle"
expect_every_stack "$folded" ';aligned_inner[; ]' \
    "$beginning;aligned_outer;aligned_middle;aligned_inner(;[^;]+_\[k\])* [0-9]+\$"
expect_between "share of the whole chain" "$(folded_share "$folded" aligned_inner)" 50 100
