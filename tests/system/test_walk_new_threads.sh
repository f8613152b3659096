#!/bin/bash
# A thread that has not been in its program yet has a whole stack, of where it will begin; who has made it has one, too.
# As many threads begin as the machine can make, which fills the rings of whoever records meanwhile.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record -F 9999 --no-inline -o "$TMPDIR/threads.folded" --stats "$TMPDIR/threads.json" -- "$WORKLOADS/nofp_clone" 3
expect_account_adds_up "$TMPDIR/threads.json"
folded=$TMPDIR/threads.folded
truncated=$(folded_match "$folded" '^nofp_clone;\[truncated\];')
((truncated == 0)) || fail "$truncated stacks are truncated: $(list_reasons "$TMPDIR/threads.json")
$(grep -F '[truncated]' "$folded")"
new=$(folded_match "$folded" '^nofp_clone;[^;]+;ret_from_fork')
echo "$new samples of threads on their first way out of the kernel"
((new >= 20)) || fail "only $new samples of new threads, expected at least 20"
expect_every_stack "$folded" ';pthread_create[@;]' "$(way_to_main nofp_clone);pthread_create"
