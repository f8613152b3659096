#!/bin/bash
# A signal handler runs on a stack of its own while libc, which it goes through, has no table yet:
# the sample carries both stacks, and is walked to the beginning when the table is there.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

# The signals begin with the program, and the first table is some milliseconds away.
recovered=0
handled=0
for try in {1..10}; do
    record -F 4999 --no-cache --no-inline -o "$TMPDIR/$try.folded" --stats "$TMPDIR/$try.json" -- \
        "$WORKLOADS/nofp_signal" 0.1
    expect_account_adds_up "$TMPDIR/$try.json"
    recovered=$((recovered + $(stats_get "$TMPDIR/$try.json" user_stacks.recovered)))
    handled=$((handled + $(folded_count "$TMPDIR/$try.folded" handler_burn)))
    # The handler's stack alone would end where the interrupted function's return address is sought.
    unread=$(stats_get "$TMPDIR/$try.json" user_stacks.truncated.read)
    ((unread == 0)) || fail "$unread stacks end where memory could not be read"
    expect_every_stack "$TMPDIR/$try.folded" ';handler_burn[; ]' \
        "$(way_to_main nofp_signal)(;[^;]+)*;[^;]+;on_timer;handler_burn"
    ((recovered < 100)) || break
done
echo "$recovered stacks were walked later in $try recordings, $handled samples are in the handler"
((recovered >= 20)) || fail "only $recovered stacks were walked later, expected at least 20"
((handled >= 100)) || fail "only $handled samples are in the handler, expected at least 100"
