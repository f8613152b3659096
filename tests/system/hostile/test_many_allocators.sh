#!/bin/bash
# A user with more allocators than can be probed: --alloc of the whole machine goes on without some of theirs, and says so.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/allocators.sh"
need_recording
need_command cc
need_command setpriv
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

# Where that user may come.
theirs=$(mktemp -d /var/tmp/stackwide-hostile.XXXXXX)
trap 'stop_background; rm -rf "$theirs"' EXIT
chmod 755 "$theirs"
make_allocators "$theirs" 70
cp "$WORKLOADS/hostile/map_files" "$theirs/program"
start setpriv --reuid=20001 --regid=20001 --clear-groups "$theirs/program" 60 "$theirs"/*.so >"$TMPDIR/mapped"
wait_until test -s "$TMPDIR/mapped"

if ! timeout -s KILL 60 "$STACKWIDE" record -a --alloc -c 1 --buffer-size 64M -o "$TMPDIR/all.folded" -- \
    "$WORKLOADS/allocations" each 20 2>"$TMPDIR/record.err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/record.err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "the recording is refused"
fi
left_out=$(sed -n 's/.*: \([0-9]*\) files with an allocator of their own are skipped.*/\1/p' "$TMPDIR/record.err")
# Of 64 places, half are the most for one who comes first, but for those of root's libraries before.
((left_out >= 70 - 32)) || fail "${left_out:-none} were left out"
grep -q '^allocations' "$TMPDIR/all.folded" || fail "the command's allocations are missing"

# Of that program alone it is refused, as before.
expect_status 2 "$STACKWIDE" record --alloc -p "$PID" -d 1 -o "$TMPDIR/one.folded"
has_line "more than 64 files have an allocator" <"$TMPDIR/err" || fail "said: $(cat "$TMPDIR/err")"
