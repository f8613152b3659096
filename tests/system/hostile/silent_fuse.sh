# shellcheck shell=bash
# Sourced after lib.sh by tests in which a user's file system (FUSE) stops to answer while its program runs.
# Sets server: its process id.

cp "$WORKLOADS/burn" "$TMPDIR/content"
mkdir "$TMPDIR/fuse"
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

# Another user's program beside it.
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
record_answering() {
    local named all
    record_all answering
    # However little of the CPUs it was given.
    named=$(folded_match "$TMPDIR/answering.folded" '^program;.*;burn_60[; ]')
    all=$(folded_match "$TMPDIR/answering.folded" '^program;')
    ((named > 0 && named >= 3 * all / 10)) || fail "$named of $all samples of its program have the name of burn_60"
}

# It has stopped before. What cannot be read is file and offset.
record_silent() {
    record_all silent
    [[ $(folded_count "$TMPDIR/silent.folded" '[program]') -gt 20 ]] ||
        grep -q '^program;.*program+0x' "$TMPDIR/silent.folded" || fail "its program is not in the recording"
}
