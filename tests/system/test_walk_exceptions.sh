#!/bin/bash
# Stacks taken while a C++ exception makes its way through ten calls are whole and in order.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
[[ -x $WORKLOADS/nofp_exceptions ]] || skip "needs a C++ compiler (package g++) when the tests are built"

record_walk nofp_exceptions 1.5
folded=$TMPDIR/nofp_exceptions.folded
beginning=$(way_to_main nofp_exceptions)
chain=';catch_it'
for level in $(seq 1 10); do
    chain="$chain;go_down<$level>"
done
expect_every_stack "$folded" ';catch_it[; ]' "$beginning;catch_it"
expect_every_stack "$folded" ';throw_it[; ]' "$beginning$chain;throw_it"
expect_every_stack "$folded" ';__cxa_throw[; ]' "$beginning$chain;throw_it;__cxa_throw"
# One level follows the one before it, or what its destructor and the unwinder do.
for level in $(seq 2 10); do
    expect_every_stack "$folded" ";go_down<$level>[; ]" ";go_down<$((level - 1))>;go_down<$level>"
done
raised=$(folded_count "$folded" '__cxa_throw;_Unwind_RaiseException')
resumed=$(folded_count "$folded" _Unwind_Resume)
echo "$raised samples in _Unwind_RaiseException, $resumed in _Unwind_Resume"
((raised >= 50)) || fail "only $raised samples in the search for a handler, expected at least 50"
((resumed >= 20)) || fail "only $resumed samples between two destructors, expected at least 20"
