#!/bin/bash
# A CPU that goes away and comes back does not end a recording.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
switch=$(find /sys/devices/system/cpu/cpu[1-9]* -maxdepth 1 -name online 2>/dev/null | tail -n 1)
[[ -n $switch ]] || skip "no CPU of this machine can be taken offline"
[[ -w $switch ]] || skip "$switch cannot be written here"
[[ $(cat "$switch") = 1 ]] || skip "$switch is offline already"
need_command setsid

# The CPU comes back also when this test is killed, which no trap sees.
setsid bash -c 'while kill -0 "$1" 2>/dev/null; do sleep 0.5; done; [[ $(<"$2") = 1 ]] || echo 1 >"$2"' \
    - "$$" "$switch" >/dev/null 2>&1 </dev/null &
restore() {
    stop_background
    [[ $(cat "$switch") = 1 ]] || echo 1 >"$switch"
}
trap restore EXIT

cp "$WORKLOADS/burn" "$TMPDIR/burn_on_cpus"
start "$TMPDIR/burn_on_cpus" 600
start "$TMPDIR/burn_on_cpus" 600
program=$PID
start_recording -F 1999 -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
wait_for_cpu_time 300 "$program"
echo 0 >"$switch" || skip "the kernel refuses to take a CPU offline"
wait_for_cpu_time 300 "$program"
echo 1 >"$switch"
wait_for_cpu_time 300 "$program"
stop_recording
expect_account_adds_up "$TMPDIR/stats.json"
expect_share "$TMPDIR/out.folded" burn_60 burn_on_cpus 60
