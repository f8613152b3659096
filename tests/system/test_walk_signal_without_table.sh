#!/bin/bash
# A signal handler runs on a stack of its own while libc, which it goes through, has no table yet:
# the sample carries both stacks, and is walked to the beginning when the table is there.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
source "$(dirname "$0")/held_recorder.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_held nofp_signal 60 400 -F 999 --buffer-size 128M
wait_for_cpu_time 100 "$program"
stop_recording

expect_account_adds_up "$TMPDIR/nofp_signal.json"
recovered=$(stats_get "$TMPDIR/nofp_signal.json" user_stacks.recovered)
handled=$(folded_count "$TMPDIR/nofp_signal.folded" handler_burn)
echo "$recovered stacks were walked later, $handled samples are in the handler"
# The handler's stack alone would end where the interrupted function's return address is sought.
unread=$(stats_get "$TMPDIR/nofp_signal.json" user_stacks.truncated.read)
((unread == 0)) || fail "$unread stacks end where memory could not be read"
expect_every_stack "$TMPDIR/nofp_signal.folded" ';handler_burn[; ]' \
    "$(way_to_main nofp_signal)(;[^;]+)*;[^;]+;on_timer;handler_burn"
((recovered >= 50)) || fail "only $recovered stacks were walked later, expected at least 50"
((handled >= 30)) || fail "only $handled samples are in the handler, expected at least 30"
