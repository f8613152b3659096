#!/bin/bash
# --syscalls: calls that began before the recording, or go on after it, have the time that is inside, and their stacks.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
"$STACKWIDE" events syscall-time >/dev/null 2>&1 || skip "this kernel has no tracepoints of system calls"

# Whether all threads of a process sleep, and there are as many. all_sleep PID NUMBER
all_sleep() {
    [[ $(sed 's/.*) //' "/proc/$1"/task/*/stat | grep -c '^S ') = "$2" ]]
}

start "$WORKLOADS/nofp_sleepers"
program=$PID
wait_until all_sleep "$program" 5
record -v --syscalls -c 1 --metric syscall-time -d 1 -p "$program" -o "$TMPDIR/calls.folded" --stats "$TMPDIR/stats.json"
expect_account_adds_up "$TMPDIR/stats.json"
cat "$TMPDIR/calls.folded"
if grep -q 'cannot see system calls under way' "$TMPDIR/record.err"; then
    skip "this kernel takes no program that looks at threads in system calls"
fi
stats_get "$TMPDIR/stats.json" duration_ns events.1.unseen_begin events.1.lost >"$TMPDIR/values"
{ read -r duration_ns && read -r unseen_begin && read -r lost; } <"$TMPDIR/values"
user='.*;sleep_in_read;.*'
if grep -q 'no user stacks of system calls under way' "$TMPDIR/record.err"; then
    echo "this kernel does not let the stack of a sleeping thread be copied"
    user='(\[slept throughout\];)?\[truncated\];'
fi
readers_ns=$(folded_match "$TMPDIR/calls.folded" "^reader;$user\\[syscall read\\] [0-9]+\$")
expect_between "ns of three readers in read()" "$readers_ns" $((3 * 900000000)) $((3 * duration_ns))
# The napper may be awake at the begin, on a CPU.
((unseen_begin <= 1 + lost)) || fail "of $unseen_begin calls the begin was not seen"

# A call that has not returned when its program is ended.
record -e syscall-time -c 1 -d 1 -o "$TMPDIR/open.folded" --stats "$TMPDIR/open.json" -- sleep 1000
duration_ns=$(stats_get "$TMPDIR/open.json" duration_ns)
slept_ns=$(folded_match "$TMPDIR/open.folded" '^sleep;.*\[syscall (clock_)?nanosleep\] [0-9]+$')
# Before it the program has started.
expect_between "ns of a call that goes on" "$slept_ns" 1 "$duration_ns"

# Nor does a thread that sleeps show in its registers by which table it has made the call.
if "$WORKLOADS/old_calls" 0 0 2>/dev/null; then
    start "$WORKLOADS/old_calls" 0 1000
    wait_until all_sleep "$PID" 1
    record --syscalls -c 1 --metric syscall-time -d 200ms -p "$PID" -o "$TMPDIR/old.folded"
    grep -qE ';\[syscall nanosleep\] [0-9]+$' "$TMPDIR/old.folded" || fail "a call of the 32-bit table: $(cat "$TMPDIR/old.folded")"
fi

# A signal that stops a process ends the call that it was in, and so does the freezer. A tracer stops it there, too.
has_state() { [[ $(sed 's/.*) //' "/proc/$1/stat") = "$2 "* ]]; }
is_frozen() { grep -q '^frozen 1' "$1/cgroup.events"; }
sleepers=()
for ((i = 0; i < 4; i++)); do
    start sleep 1000
    sleepers+=("$PID")
    wait_until all_sleep "$PID" 1
done
kill -STOP "${sleepers[1]}"
wait_until has_state "${sleepers[1]}" T
start "$WORKLOADS/traces" "${sleepers[2]}"
wait_until has_state "${sleepers[2]}" t
mount_point=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$mount_point/stackwide-test-$$
remove_group() {
    [[ ! -d $group ]] || echo 0 >"$group/cgroup.freeze"
    stop_background
    wait
    rmdir "$group" 2>/dev/null || true
}
if [[ -n $mount_point ]] && mkdir "$group" 2>/dev/null; then
    trap remove_group EXIT
    echo "${sleepers[3]}" >"$group/cgroup.procs"
    echo 1 >"$group/cgroup.freeze"
    wait_until is_frozen "$group"
else
    echo "no cgroup can be made here: none is frozen"
    unset 'sleepers[3]'
fi
record --syscalls -c 1 --metric syscall-time -d 500ms -p "$(IFS=, && echo "${sleepers[*]}")" -o "$TMPDIR/stopped.folded" \
    --stats "$TMPDIR/stopped.json"
expect_account_adds_up "$TMPDIR/stopped.json"
expect_between "ns in calls of one that sleeps and three that are stopped" "$(folded_total "$TMPDIR/stopped.folded")" 400000000 \
    "$(stats_get "$TMPDIR/stopped.json" duration_ns)"

# A program that does nothing but sleep has calls.
start sleep 1000
wait_until all_sleep "$PID" 1
record --syscalls -d 500ms -p "$PID" -o "$TMPDIR/idle.pb.gz" --stats "$TMPDIR/idle.json"
expect_between "ns of a program that only sleeps" "$(stats_get "$TMPDIR/idle.json" events.1.weight)" 400000000 \
    "$(stats_get "$TMPDIR/idle.json" duration_ns)"
