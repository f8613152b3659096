#!/bin/bash
# A signal handler runs on a stack of its own while libc, which it goes through, has no table yet:
# the sample carries both stacks, and is walked to the beginning when the table is there.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

# While the recorder is held, nobody has tables built, and the ring has room for all these stacks.
mkfifo "$TMPDIR/begin"
# shellcheck disable=SC2016 # the inner shell is to expand it
start bash -c 'read -r _ <"$1"; exec "$2" 60' - "$TMPDIR/begin" "$WORKLOADS/nofp_signal"
program=$PID
start_recording -F 999 --no-cache --no-inline --buffer-size 128M -p "$program" \
    -o "$TMPDIR/nofp_signal.folded" --stats "$TMPDIR/nofp_signal.json"
kill -STOP "$RECORDER"
echo >"$TMPDIR/begin"
wait_until runs_program "$program" nofp_signal
wait_for_cpu_time 400 "$program"
kill -CONT "$RECORDER"
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
