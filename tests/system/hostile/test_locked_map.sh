#!/bin/bash
# A process of another user's that keeps its memory map locked, which any user can: whoever reads what is below its
# /proc/PID waits. A recording begins and ends as ever, names what others run, and says what it gave up; so does doctor.
# Probes in programs are refused: attaching one waits for that lock, and every fork of the machine with it.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
need_recording
need_command python3

mkdir "$TMPDIR/fuse"
server=
end_server() {
    [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
    umount -l "$TMPDIR/fuse" 2>/dev/null || true
    stop_background
}
trap end_server EXIT
start "$WORKLOADS/hostile/locked_map" "$TMPDIR/fuse" 20001 >"$TMPDIR/locked"
server=$PID
is_locking_or_gone() { [[ -s $TMPDIR/locked ]] || ! kill -0 "$server" 2>/dev/null; }
wait_until is_locking_or_gone
[[ -s $TMPDIR/locked ]] || skip "FUSE is not permitted here"
locked=$(cat "$TMPDIR/locked")
# Asking costs a process that waits, and ends when it is killed.
status=0
timeout -s KILL 1 cat "/proc/$locked/cmdline" >/dev/null || status=$?
((status == 137)) || skip "this kernel does not keep the lock of the map for so long"
start "$WORKLOADS/burn" 600
wait_until runs_program "$PID" burn

timeout -s KILL 20 "$STACKWIDE" record -F 199 -a -d 1 --stats "$TMPDIR/stats.json" -o "$TMPDIR/all.folded" \
    2>"$TMPDIR/record.err" || fail "the recording ended with status $?"
expect_frame "$TMPDIR/all.folded" burn_60 20
late=$(stats_get "$TMPDIR/stats.json" processes.late_reads)
((late >= 1 && late <= 5)) || fail "$late reads timed out"
grep -q 'timed out' "$TMPDIR/record.err" || fail "it does not say so"

status=0
timeout -s KILL 20 "$STACKWIDE" doctor >"$TMPDIR/doctor" 2>&1 || status=$?
((status < 2)) || { cat "$TMPDIR/doctor" && fail "doctor ended with status $status"; }
grep -q '^ok  *test recording' "$TMPDIR/doctor" || { cat "$TMPDIR/doctor" && fail "doctor did not record"; }

for option in "--alloc" "-e uretprobe:$WORKLOADS/burn:main"; do
    status=0
    # shellcheck disable=SC2086 # it is several words
    timeout -s KILL 20 "$STACKWIDE" record -a -d 1 $option -o "$TMPDIR/no.folded" 2>"$TMPDIR/record.err" || status=$?
    ((status == 1)) || fail "$option ended with status $status"
    grep -q "process $locked .*did not answer in time" "$TMPDIR/record.err" || fail "$option does not say why"
done
