#!/bin/bash
# A program on a user's file system (FUSE) that nobody else may read, not even root, as an AppImage is: its functions have
# names, from a copy that a process with that user's rights opens. It may stop to answer, too.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cpu_time.sh"
need_recording
need_command setpriv

user=20001
mkdir "$TMPDIR/fuse"
chmod 711 "$TMPDIR"
cp "$WORKLOADS/burn" "$TMPDIR/content"
server=
end_server() {
    [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
    umount -l "$TMPDIR/fuse" 2>/dev/null || true
    stop_background
}
trap end_server EXIT
start "$WORKLOADS/hostile/fuse_file" "$TMPDIR/fuse" "$TMPDIR/content" 60 0 "$user"
server=$PID
is_mounted_or_gone() { grep -q " $TMPDIR/fuse fuse" /proc/mounts || ! kill -0 "$server" 2>/dev/null; }
wait_until is_mounted_or_gone
grep -q " $TMPDIR/fuse fuse" /proc/mounts || skip "FUSE is not permitted here"
! stat "$TMPDIR/fuse/program" >/dev/null 2>&1 || skip "this kernel lets root read a user's file system"
exec 8<"$TMPDIR" # which that user need not come to
start setpriv --reuid="$user" --regid="$user" --clear-groups /proc/self/fd/8/fuse/program 60
exec 8<&-
wait_until runs_program "$PID" program
program=$PID

record_cpu_time 300 "$program" -F 199 -p "$program" --stats "$TMPDIR/stats.json" -o "$TMPDIR/private.folded"
expect_share "$TMPDIR/private.folded" burn_60 main 60
expect_account_adds_up "$TMPDIR/stats.json"

kill -STOP "$server"
timeout -s KILL 20 "$STACKWIDE" record -F 199 -d 1 -p "$program" --stats "$TMPDIR/silent.json" \
    -o "$TMPDIR/silent.folded" 2>"$TMPDIR/record.err" || fail "status $? where it does not answer"
late=$(stats_get "$TMPDIR/silent.json" processes.late_reads)
((late >= 1 && late <= 5)) || fail "$late reads were given up"
kill -0 "$program" || fail "its program has ended"
