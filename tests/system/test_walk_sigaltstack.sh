#!/bin/bash
# The stack of a coroutine that was made by a signal handler on an alternate stack starts in that handler, which was left
# long ago: the interrupted function is not its caller.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
source "$(dirname "$0")/held_recorder.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
[[ $(uname -m) = x86_64 ]] || skip "signal frames are walked on x86-64 only"

# Its outermost frame is the code that signal handlers return to.
chain='^nofp_altstack;[^;]+;trampoline;bootstrap;run_coroutine'
# expect_coroutines FOLDED
expect_coroutines() {
    local whole
    expect_every_stack "$1" ';run_coroutine[; ]' "$chain[; ]"
    whole=$(folded_match "$1" "$chain;burn_in_coroutine")
    echo "$whole samples of the coroutine"
    ((whole >= 100)) || fail "only $whole samples of the coroutine have its whole stack, expected at least 100"
    ! grep -m 1 -E ';(main|make_coroutine);.*;run_coroutine[; ]' "$1" || fail "the coroutine has a caller"
}

record_walk nofp_altstack 0.7
expect_coroutines "$TMPDIR/nofp_altstack.folded"

# The same where the table comes later, and the stack is copied.
record_held nofp_altstack 60 400 -F 999 --buffer-size 128M
wait_for_cpu_time 100 "$program"
stop_recording
expect_account_adds_up "$TMPDIR/nofp_altstack.json"
recovered=$(stats_get "$TMPDIR/nofp_altstack.json" user_stacks.recovered)
echo "$recovered stacks were walked later"
((recovered >= 50)) || fail "only $recovered stacks were walked later, expected at least 50"
expect_coroutines "$TMPDIR/nofp_altstack.folded"
