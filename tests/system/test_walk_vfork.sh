#!/bin/bash
# Stacks of a child that lives on its parent's stack are whole, from its first instruction on, and
# those of its parent inside vfork().
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_walk nofp_vfork 3
folded=$TMPDIR/nofp_vfork.folded
beginning=$(way_to_main nofp_vfork)
expect_every_stack "$folded" ';child_burn[; ]' "$beginning;start_child;child_burn"
expect_every_stack "$folded" ';(__)?vfork[; ]' "$beginning;start_child;(__)?vfork"
expect_frame "$folded" "start_child;child_burn" 1000
echo "$(folded_match "$folded" ';(__)?vfork[; ]') samples in vfork()"
