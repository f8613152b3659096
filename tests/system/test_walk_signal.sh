#!/bin/bash
# A stack in a signal handler goes on from the handler's own stack to the function that was
# interrupted, wherever that was, and to the beginning.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_walk nofp_signal 1.5
folded=$TMPDIR/nofp_signal.folded
beginning=$(way_to_main nofp_signal)
expect_every_stack "$folded" ';on_timer[; ]' \
    "$beginning(;[^;]+)*;[^;]+;on_timer(;handler_burn(;[^;]+)*)?(;[^;]+_\[k\])* [0-9]+\$"
expect_every_stack "$folded" ';handler_burn[; ]' ';on_timer;handler_burn'
expect_every_stack "$folded" ';interrupted[; ]' "$beginning;work;interrupted"
interrupted=$(folded_match "$folded" "$beginning;work;interrupted;[^;]+;on_timer;handler_burn")
echo "$interrupted samples in the handler came from the interrupted function"
((interrupted >= 50)) || fail "only $interrupted samples of the handler, expected at least 50"

# The trampoline that the handler returns to has a name where libc's debug symbols are there.
trampoline=$(gdb -batch -ex 'info symbol __restore_rt' "$(ldd "$WORKLOADS/nofp_signal" | awk '/libc\.so/ { print $3 }')" 2>/dev/null || true)
if [[ $trampoline == __restore_rt* ]]; then
    expect_every_stack "$folded" ';on_timer[; ]' ';__restore_rt;on_timer'
fi
