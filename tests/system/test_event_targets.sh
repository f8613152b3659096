#!/bin/bash
# -e of a cgroup and of a thread: the hits of what is wanted alone, of a probe and of a tracepoint with a filter; what
# others hit is counted as theirs.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"
"$STACKWIDE" events syscalls:sys_enter_futex >/dev/null 2>&1 || skip "the kernel has no tracepoints of system calls"

# expect_hits STATS NUMBER:FILTERED…: of each event in turn, - being any number above 0
expect_hits() {
    python3 -S - "$@" <<'PYTHON' || fail "the account of $1: $(cat "$1")"
import json, sys
events = json.load(open(sys.argv[1]))["events"]
for event, wanted in zip(events, sys.argv[2:], strict=True):
    samples, filtered = wanted.split(":")
    print(f"{event['name'].rsplit('/', 1)[-1]}: {event['samples']} samples, {event['filtered']} of others; expected {wanted}")
    assert not any(event["lost"].values())
    assert event["samples"] > 0 if samples == "-" else event["samples"] == int(samples)
    assert event["filtered"] > 0 if filtered == "-" else event["filtered"] == int(filtered)
PYTHON
}

# One thread alone calls flush_log, and the other one alone take_lock; both call futex, to wake with the operation 0x81.
start "$WORKLOADS/nofp_lock" 60
lock=$PID
find_worker() { worker=$(grep -lx worker-3 /proc/"$lock"/task/*/comm 2>/dev/null | cut -d / -f 5) && [[ -n $worker ]]; }
wait_until find_worker
record -d 1 -t "$worker" -c 1 --buffer-size 64M -e "uprobe:$WORKLOADS/nofp_lock:flush_log,uprobe:$WORKLOADS/nofp_lock:take_lock" \
    -e syscalls:sys_enter_futex --filter 'op == 0x81' --metric syscalls:sys_enter_futex -o "$TMPDIR/thread.folded" \
    --stats "$TMPDIR/thread.json"
kill "$lock"
expect_account_adds_up "$TMPDIR/thread.json"
expect_hits "$TMPDIR/thread.json" -:0 0:- -:-
others=$(grep -vE '^worker-3;.*;flush_log;' "$TMPDIR/thread.folded" || true)
[[ -z $others ]] || fail "others wake, or elsewhere: $others"

mount_point=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[[ -n $mount_point ]] || skip "cgroup2 is not mounted: events of a cgroup were not seen"
group=$mount_point/stackwide-test-$$
mkdir "$group" 2>/dev/null || skip "cannot make a cgroup in $mount_point: events of a cgroup were not seen"
remove_group() {
    stop_background
    wait
    rmdir "$group" 2>/dev/null || true
}
trap remove_group EXIT
mkfifo "$TMPDIR/go"
exec 3<>"$TMPDIR/go"
# waits_to_run PROGRAM CALLS
waits_to_run() {
    # shellcheck disable=SC2016 # the inner shell's
    start bash -c 'read -r _ <"$1" && exec "$2" "$3"' - "$TMPDIR/go" "$@" 3>&-
}
programs=()
waits_to_run "$WORKLOADS/nofp_probes" 5000
programs+=("$PID")
waits_to_run "$WORKLOADS/nofp_calls" 3000
programs+=("$PID")
for program in "${programs[@]}"; do
    echo "$program" >"$group/cgroup.procs" || skip "cannot move a process into a cgroup: its events were not seen"
done
waits_to_run "$WORKLOADS/nofp_probes" 7000
programs+=("$PID")
waits_to_run "$WORKLOADS/nofp_calls" 2000
programs+=("$PID")
start_recording --cgroup "$group" -c 1 --buffer-size 64M -e "uprobe:$WORKLOADS/nofp_probes:handle_request" \
    -e syscalls:sys_enter_getppid --filter 'COMM == "nofp_calls"' -o "$TMPDIR/cgroup.pb.gz" --stats "$TMPDIR/cgroup.json" 3>&-
printf '\n\n\n\n' >&3
exec 3>&-
wait "${programs[@]}"
stop_recording
expect_account_adds_up "$TMPDIR/cgroup.json"
expect_hits "$TMPDIR/cgroup.json" 5000:7000 3000:-
