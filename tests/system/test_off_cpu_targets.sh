#!/bin/bash
# --off-cpu goes with every target: a process, a thread, a cgroup, the machine; and with --flush.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

for side in inside outside; do
    cp "$WORKLOADS/nofp_waits" "$TMPDIR/waits_$side"
done

# Each makes threads that wait until the test ends.
start "$TMPDIR/waits_inside" 600 >/dev/null
inside=$PID
start "$TMPDIR/waits_outside" 600 >/dev/null
outside=$PID

# record_waits NAME OPTION…
record_waits() {
    record --off-cpu --period 1ms --buffer-size 64M -d 0.5 -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" "${@:2}"
    expect_account_adds_up "$TMPDIR/$1.json"
    expect_off_cpu_adds_up "$TMPDIR/$1.json"
    echo "$1: $(folded_match "$TMPDIR/$1.folded" '\[blocked\] [0-9]+$') us blocked"
}

record_waits process -p "$inside"
expect_frame "$TMPDIR/process.folded" waits_inside
expect_frame "$TMPDIR/process.folded" wait_futex
expect_no_frame "$TMPDIR/process.folded" waits_outside

wait_until has_thread "$inside" locker
record_waits thread -t "$(find_thread "$inside" locker)"
expect_frame "$TMPDIR/thread.folded" wait_lock
for other in wait_futex wait_pipe wait_condition; do
    expect_no_frame "$TMPDIR/thread.folded" "$other"
done

record_waits machine -a
expect_frame "$TMPDIR/machine.folded" waits_inside
expect_frame "$TMPDIR/machine.folded" waits_outside

mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
group=$mount/stackwide-off-cpu-$$
if [[ -n $mount ]] && mkdir "$group" 2>/dev/null; then
    trap 'stop_background; wait; rmdir "$group" || true' EXIT
    echo "$inside" >"$group/cgroup.procs"
    record_waits cgroup --cgroup "$group"
    expect_frame "$TMPDIR/cgroup.folded" waits_inside
    expect_frame "$TMPDIR/cgroup.folded" wait_futex
    expect_no_frame "$TMPDIR/cgroup.folded" waits_outside
else
    echo "no cgroup can be made here"
fi

# One recording takes over from the other; each has an account that it checks itself.
record --off-cpu --period 1ms --buffer-size 64M --flush 500ms -d 1200ms -p "$outside" -o "$TMPDIR/flush.folded" \
    --stats "$TMPDIR/flush.json"
for number in 1 2; do
    expect_frame "$TMPDIR/flush.$number.folded" wait_futex
    expect_off_cpu_adds_up "$TMPDIR/flush.$number.json"
done
