#!/bin/bash
# A user's file system (FUSE) that stops to answer while its program runs: the recording begins, goes on
# and ends as ever, also when it began before, and others' stacks and names do not suffer.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
need_recording
. "$(dirname "$0")/silent_fuse.sh"

start "$TMPDIR/fuse/program" 120
wait_until runs_program "$PID" program
attacker=$PID
record_answering

# It stops while it is recorded, too.
start_recording -F 199 -a -o "$TMPDIR/during.folded"
kill -STOP "$server"
sleep 1
begun=$SECONDS
kill -INT "$RECORDER"
wait_until eval '! kill -0 "$RECORDER" 2>/dev/null'
((SECONDS - begun <= 5)) || fail "it took $((SECONDS - begun)) s to end"
end_recording
expect_frame "$TMPDIR/during.folded" main

record_silent
kill -0 "$attacker" || fail "its program has ended"
