#!/bin/bash
# A process locks its memory map while a program that it has mapped is probed. To take the probe away waits for that lock, and
# keeps all others from starting processes meanwhile. The recording ends as ever, whether it was asked to or killed, and processes
# start; the one that holds the probes says what it waits for, and ends when that answers.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

server=
end_server() {
    [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
    server=
    umount -l "$TMPDIR/fuse" 2>/dev/null || true
}
trap 'end_server; stop_background' EXIT
mkdir "$TMPDIR/fuse"

is_locking_or_gone() { [[ -s $TMPDIR/locked ]] || ! kill -0 "$server" 2>/dev/null; }
lock_a_map() {
    local status=0
    : >"$TMPDIR/locked"
    start "$WORKLOADS/hostile/locked_map" "$TMPDIR/fuse" 20001 >"$TMPDIR/locked"
    server=$PID
    wait_until is_locking_or_gone
    [[ -s $TMPDIR/locked ]] || skip "FUSE is not permitted here"
    locked=$(cat "$TMPDIR/locked")
    timeout -s KILL 1 cat "/proc/$locked/cmdline" >/dev/null || status=$?
    ((status == 137)) || skip "this kernel does not keep the lock of the map for so long"
}
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# What both have mapped: libc.
probe="uprobe:libc:getppid"
start "$WORKLOADS/burn" 600
start_recording -a -e "$probe" -o "$TMPDIR/x.folded"
lock_a_map
kill -INT "$RECORDER"
# A recorder that hangs is no more in this shell's hands: all ends after two minutes.
SECONDS=0
end_recording
((SECONDS < 60)) || fail "the end took $SECONDS s"
grep -q "probes are still attached, as process $locked does not answer" "$TMPDIR/record.err" ||
    fail "it does not say so: $(cat "$TMPDIR/record.err")"
keeper=$(sed -n 's/.*answer; process \([0-9]*\) (stackwide-keep).*/\1/p' "$TMPDIR/record.err")
[[ $(cat "/proc/$keeper/comm") = stackwide-keep ]] || fail "process $keeper does not hold the probes"
SECONDS=0
(exit 0)
((SECONDS < 60)) || fail "a process started after $SECONDS s"
end_server
wait_until is_gone "$keeper"

# Killed, its probes are held as well.
start_recording -a -e "$probe" -o "$TMPDIR/y.folded"
for child in $(cat "/proc/$RECORDER/task/$RECORDER/children"); do
    [[ $(cat "/proc/$child/comm") != stackwide-keep ]] || keeper=$child
done
lock_a_map
kill -KILL "$RECORDER"
SECONDS=0
wait "$RECORDER" || true
(exit 0)
((SECONDS < 60)) || fail "the end took $SECONDS s"
kill -0 "$keeper" || fail "the process that holds the probes has ended with the recorder"
end_server
wait_until is_gone "$keeper"
