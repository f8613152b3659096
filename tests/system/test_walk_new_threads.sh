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
# Where a machine is slow enough, the recorder knows too late what the program has mapped; such stacks have reasons of
# their own. All of a kind would lack the rule.
stats_get "$TMPDIR/threads.json" user_stacks.truncated user_stacks.truncated.no_process user_stacks.truncated.no_mapping \
    user_stacks.truncated.no_table user_stacks.complete >"$TMPDIR/values"
{ read -r truncated && read -r no_process && read -r no_mapping && read -r no_table && read -r complete; } <"$TMPDIR/values"
late=$((no_process + no_mapping + no_table))
echo "$complete whole stacks, $late that came too early"
((truncated == late)) || fail "$((truncated - late)) stacks are truncated: $(list_reasons "$TMPDIR/threads.json")
$(grep -F '[truncated]' "$folded")"
new=$(folded_match "$folded" '^nofp_clone;[^;]+;ret_from_fork')
makers=$(folded_match "$folded" "$(way_to_main nofp_clone);pthread_create;.*;kernel_clone_\[k\]")
echo "$new samples of threads on their first way out of the kernel, $makers of who makes them"
((new >= 20 && makers >= 20)) || fail "only $new samples of new threads and $makers of who makes them, expected at least 20"
expect_every_stack "$folded" ';pthread_create[@;]' "$(way_to_main nofp_clone);pthread_create"
