#!/bin/bash
# A user's overlay over a file system of theirs (FUSE) that stops to answer, mounted in a namespace of
# their own, as any user may: the recording ends as ever, and others' stacks and names do not suffer.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
need_recording
need_command unshare
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"
. "$(dirname "$0")/silent_fuse.sh"

mkdir "$TMPDIR/below" "$TMPDIR/overlay"
# shellcheck disable=SC2016 # the inner shell is to expand it
in_overlay='mount -t overlay -o "lowerdir=$0/fuse:$0/below" overlay "$0/overlay" && exec "$@"'
unshare -m bash -c "$in_overlay" "$TMPDIR" true 2>/dev/null || skip "overlays are not permitted here"
start unshare -m bash -c "$in_overlay" "$TMPDIR" "$TMPDIR/overlay/program" 120
wait_until runs_program "$PID" program
attacker=$PID
record_answering
kill -STOP "$server"
record_silent
kill -0 "$attacker" || fail "its program has ended"
