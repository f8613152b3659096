#!/bin/bash
# A user who has mounts of their own (in a user namespace) lets their process's perf-map be a device,
# which root must not open: the opening alone may restart the machine (/dev/watchdog).
# runs: beside others
. "$(dirname "$0")/../lib.sh"
need_recording
need_command setpriv
need_command python3
as_attacker=(setpriv --reuid=65534 --regid=65534 --clear-groups)
"${as_attacker[@]}" unshare --user --map-root-user --mount true 2>/dev/null ||
    skip "users may not make namespaces here"

# A device that nothing else here opens. The program comes by standard input, for its folder may be
# one that the user cannot pass.
# shellcheck disable=SC2016 # the inner shells are to expand it
start bash -c 'exec "${@:2}" <"$1"' - "$WORKLOADS/jit" "${as_attacker[@]}" unshare --user --map-root-user --mount sh -c '
    cd / && mount -t tmpfs none /tmp && cat >/tmp/jit && chmod 755 /tmp/jit &&
        : >"/tmp/perf-$$.map" && mount --bind /dev/full "/tmp/perf-$$.map" && exec /tmp/jit 60 60'
wait_until runs_program "$PID" jit
[[ -c /proc/$PID/root/tmp/perf-$PID.map ]] || fail "the device is not where the map is looked for"

cat >"$TMPDIR/count_opens.py" <<'PYTHON'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
IN_OPEN = 0x20
assert libc.inotify_add_watch(fd, b"/dev/full", IN_OPEN) >= 0
def count():
    try:
        return len(os.read(fd, 65536)) // 16
    except BlockingIOError:
        return 0
# It is seen when it happens.
os.close(os.open("/dev/full", os.O_WRONLY))
assert count() == 1
status = os.spawnvp(os.P_WAIT, sys.argv[1], sys.argv[1:])
print("opened", count(), "times, status", status)
sys.exit(status or count() != 0)
PYTHON
opened=$(python3 "$TMPDIR/count_opens.py" "$STACKWIDE" record -F 499 -p "$PID" -d 1 -o "$TMPDIR/x.folded" \
    2>"$TMPDIR/record.err")
echo "$opened"
[[ $opened = "opened 0 times, status 0" ]] || fail "the device was $opened"
expect_frame "$TMPDIR/x.folded" run_code 10
