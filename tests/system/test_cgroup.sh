#!/bin/bash
# --cgroup: only what runs in that cgroup and below it.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

mount_point=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[[ -n $mount_point ]] || skip "cgroup2 is not mounted"
group=$mount_point/stackwide-test-$$
mkdir "$group" 2>/dev/null || skip "cannot make a cgroup in $mount_point"
remove_group() {
    stop_background
    wait
    rmdir "$group/below" "$group" 2>/dev/null || true
}
trap remove_group EXIT
mkdir "$group/below"

start "$WORKLOADS/syscalls" 60
start "$WORKLOADS/burn" 60
burn=$PID
echo "$PID" >"$group/cgroup.procs" || skip "cannot move a process into a cgroup"
start "$WORKLOADS/deep" 60
deep=$PID
echo "$PID" >"$group/below/cgroup.procs"

for path in "$group" "${group#"$mount_point"/}" "${group#"$mount_point"}"; do
    start_recording -F 999 --cgroup "$path" -o "$TMPDIR/out.folded"
    wait_for_cpu_times 150 "$burn" "$deep"
    stop_recording
    expect_frame "$TMPDIR/out.folded" burn_60 30
    expect_frame "$TMPDIR/out.folded" level_65 30
    expect_no_frame "$TMPDIR/out.folded" hammer_kernel
done

expect_status 1 "$STACKWIDE" record -d 1 --cgroup "$group/missing" -o "$TMPDIR/none.folded"
grep -q "missing" "$TMPDIR/err" || fail "does not name the cgroup: $(cat "$TMPDIR/err")"

# A path is one of the cgroup tree, also where the root has a folder of that name.
record_cpu_time 150 "$burn" -F 999 --cgroup / -o "$TMPDIR/root.folded"
expect_frame "$TMPDIR/root.folded" burn_60
expect_status 1 "$STACKWIDE" record -d 1 --cgroup /usr -o "$TMPDIR/none.folded"
grep -q "cannot open cgroup '$mount_point/usr'" "$TMPDIR/err" || fail "said: $(cat "$TMPDIR/err")"
