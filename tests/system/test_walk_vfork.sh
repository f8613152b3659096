#!/bin/bash
# Stacks of a child that lives on its parent's stack are whole, from its first instruction on, and
# those of its parent inside vfork().
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

# The whole machine: events of threads start anew in every child, and hardly ever tick in a parent
# that waits for children most of the time.
record -a -F "$FREQUENCY" --no-inline -o "$TMPDIR/all.folded" --stats "$TMPDIR/nofp_vfork.json" -- \
    "$WORKLOADS/nofp_vfork" 1.5
expect_account_adds_up "$TMPDIR/nofp_vfork.json"
folded=$TMPDIR/nofp_vfork.folded
grep '^nofp_vfork;' "$TMPDIR/all.folded" >"$folded"
beginning=$(way_to_main nofp_vfork)
expect_every_stack "$folded" ';child_burn[; ]' "$beginning;start_child;child_burn"
expect_every_stack "$folded" ';(__)?vfork[; ]' "$beginning;start_(idle_)?child;(__)?vfork"
expect_frame "$folded" "start_child;child_burn" 20
# Inside the system call the return address is nowhere but in a register.
inside=$(folded_match "$folded" "$beginning;start_idle_child;(__)?vfork;([^;]+_\[k\];)+")
echo "$inside samples in the system call of vfork()"
((inside >= 20)) || fail "only $inside samples in the system call of vfork(), expected at least 20"
