#!/bin/bash
# While --alloc records the whole machine, a user maps more files with an allocator than can be probed, and keeps a memory map
# locked. Other users' allocators are followed as long as no lock is held, what is left out is counted, and the recording ends as ever.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/allocators.sh"
need_recording
need_command cc
need_command setpriv
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"
[[ -x $WORKLOADS/allocations_static ]] || skip "no static libc here"

# Where that user may come.
theirs=$(mktemp -d /var/tmp/stackwide-hostile.XXXXXX)
server=
end_all() {
    [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
    umount -l "$TMPDIR/fuse" 2>/dev/null || true
    stop_background
    rm -rf "$theirs"
}
trap end_all EXIT
chmod 755 "$theirs"
num_files=300
make_allocators "$theirs" "$num_files"
cp "$WORKLOADS/hostile/map_files" "$theirs/program"
cp "$WORKLOADS/allocations_static" "$TMPDIR/allocations_first"
cp "$WORKLOADS/allocations_static" "$TMPDIR/allocations_last"
mkfifo "$TMPDIR/go"
exec 3<>"$TMPDIR/go"

if ! "$STACKWIDE" record --alloc -d 0.1 -o "$TMPDIR/try.folded" 2>"$TMPDIR/record.err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/record.err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "the recording is refused"
fi
start_recording -a --alloc -o "$TMPDIR/all.folded" --stats "$TMPDIR/all.json" 3>&-
start setpriv --reuid=20001 --regid=20001 --clear-groups "$theirs/program" 600 "$theirs"/*.so >"$TMPDIR/mapped" 3>&-
wait_until test -s "$TMPDIR/mapped"

# says PATTERN: whether the recorder has told that.
says() { grep -qE "$1" "$TMPDIR/record.err"; }

# Their files are not in the way of root's.
start bash -c 'exec "$1" each 20 wait <"$2"' - "$TMPDIR/allocations_first" "$TMPDIR/go" 3>&-
first=$PID
wait_until says 'allocations of [^ ]*allocations_first (count|are missing)'
says 'allocations of [^ ]*allocations_first count' || fail "root's allocator is not followed"
echo >&3
wait "$first"

# While a process does not answer, nothing is probed, as all forks would wait for it. Nobody waits for that.
mkdir "$TMPDIR/fuse"
if command -v python3 >/dev/null; then
    start "$WORKLOADS/hostile/locked_map" "$TMPDIR/fuse" 20002 >"$TMPDIR/locked" 3>&-
    server=$PID
    is_locking_or_gone() { [[ -s $TMPDIR/locked ]] || ! kill -0 "$server" 2>/dev/null; }
    wait_until is_locking_or_gone
fi
is_locked=
if [[ -s $TMPDIR/locked ]]; then
    status=0
    timeout -s KILL 1 cat "/proc/$(cat "$TMPDIR/locked")/cmdline" >/dev/null || status=$?
    ((status != 137)) || is_locked=1
fi
[[ -n $is_locked ]] || echo "no memory map can be kept locked here: the rest was not seen"
start bash -c 'exec "$1" each 20 wait <"$2"' - "$TMPDIR/allocations_last" "$TMPDIR/go" 3>&-
last=$PID
wait_until says 'allocations of [^ ]*allocations_last (count|are missing)'
[[ -z $is_locked ]] || says 'allocations_last are missing: process .* did not answer' || fail "a probe was attached"
echo >&3
wait "$last"
# The kernel removes probes only when it gets that lock.
if [[ -n $server ]]; then
    kill -KILL "$server"
    server=
    umount -l "$TMPDIR/fuse" 2>/dev/null || true
fi
kill -INT "$RECORDER"
end_recording
exec 3>&-

followed=$(stats_get "$TMPDIR/all.json" processes.followed_allocators)
missed=$(stats_get "$TMPDIR/all.json" processes.late_allocators)
unread=$(stats_get "$TMPDIR/all.json" processes.unsearched_files)
theirs_followed=$(grep -cE "allocations of $theirs/[^ ]* count" "$TMPDIR/record.err" || true)
echo "$followed followed, $theirs_followed of them the user's; $missed missed, $unread not looked into"
# Half of the three quarters of 64 that users have together.
((theirs_followed <= 24)) || fail "a user has $theirs_followed places"
((theirs_followed + missed + unread >= num_files)) || fail "some of $num_files files are in no count"
expect_account_adds_up "$TMPDIR/all.json"
# An allocation of more than the mean is always a sample.
wanted=$((20 << 20))
got=$(folded_match "$TMPDIR/all.folded" '^allocations_fir.*;by_large_malloc;')
[[ $(stats_get "$TMPDIR/all.json" lost) != 0 || $got = "$wanted" ]] || fail "$got bytes, expected $wanted"
