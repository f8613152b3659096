#!/bin/bash
# Stacks are whole and in order while a program jumps out of ten calls again and again.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_walk nofp_longjmp 1.5
folded=$TMPDIR/nofp_longjmp.folded
beginning=$(way_to_main nofp_longjmp)
expect_every_stack "$folded" ';jump_once[; ]' "$beginning;jump_once"
expect_every_stack "$folded" ';go_down[; ]' \
    "$beginning;jump_once(;go_down){1,10}(;[^;]*(longjmp|pthread_cleanup|nofp_longjmp\+0x|libc)[^;]*)*(;[^;]+_\[k\])* [0-9]+\$"
chain=jump_once$(printf ';go_down%.0s' $(seq 10))
expect_between "share of the whole chain" "$(folded_share "$folded" "$chain")" 20 100
echo "in longjmp $(folded_match "$folded" "$chain;[^;]*longjmp") samples"
