#!/bin/bash
# A user's overlay over a file system of theirs (FUSE) that stops to answer, mounted in a namespace of
# their own, as any user may: the recording ends as ever, and others' stacks and names do not suffer.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
need_recording
need_command unshare
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"

cp "$WORKLOADS/burn" "$TMPDIR/content"
mkdir "$TMPDIR/fuse" "$TMPDIR/below" "$TMPDIR/overlay"
server=
# A server that has ended answers with an error.
end_server() {
    [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
    umount -l "$TMPDIR/fuse" 2>/dev/null || true
    stop_background
}
trap end_server EXIT
start "$WORKLOADS/hostile/fuse_file" "$TMPDIR/fuse" "$TMPDIR/content" 0
server=$PID
is_mounted_or_gone() { [[ -e $TMPDIR/fuse/program ]] || ! kill -0 "$server" 2>/dev/null; }
wait_until is_mounted_or_gone
[[ -e $TMPDIR/fuse/program ]] || skip "FUSE is not permitted here"
unshare -m mount -t overlay -o "lowerdir=$TMPDIR/fuse:$TMPDIR/below" overlay "$TMPDIR/overlay" 2>/dev/null ||
    skip "overlays are not permitted here"
# shellcheck disable=SC2016 # the inner shell is to expand it
start unshare -m bash -c 'mount -t overlay -o "lowerdir=$1/fuse:$1/below" overlay "$1/overlay" &&
    exec "$1/overlay/program" 120' - "$TMPDIR"
wait_until runs_program "$PID" program
attacker=$PID
cp "$WORKLOADS/nofp_deep" "$TMPDIR/deep_beside"
start "$TMPDIR/deep_beside" 600
wait_until runs_program "$PID" deep_beside

# record_all NAME: it takes a second, and little more. At this rate all stacks fit that have to be kept until
# there are tables, whatever else runs.
record_all() {
    local begun=$EPOCHREALTIME seconds
    timeout -s KILL 30 "$STACKWIDE" record -F 199 -a -d 1 --stats "$TMPDIR/$1.json" \
        -o "$TMPDIR/$1.folded" 2>"$TMPDIR/record.err" || fail "$1: status $?"
    seconds=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
    echo "$1: $seconds s"
    expect_between "seconds of a recording of one" "$seconds" 1 12
    expect_account_adds_up "$TMPDIR/$1.json"
    expect_between "share of whole stacks of another user" \
        "$(folded_share "$TMPDIR/$1.folded" main deep_beside)" 99 100
}

# While it answers, its program has names, from a copy.
record_all answering
expect_frame "$TMPDIR/answering.folded" burn_60 20

# It has stopped before the recording. What cannot be read is file and offset.
kill -STOP "$server"
record_all silent
[[ $(folded_count "$TMPDIR/silent.folded" '[program]') -gt 20 ]] ||
    grep -q '^program;.*program+0x' "$TMPDIR/silent.folded" || fail "its program is not in the recording"
kill -0 "$attacker" || fail "its program has ended"
