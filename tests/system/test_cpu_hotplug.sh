#!/bin/bash
# A CPU that goes away and comes back does not end a recording.
source "$(dirname "$0")/lib.sh"
need_recording
switch=$(find /sys/devices/system/cpu/cpu[1-9]* -maxdepth 1 -name online 2>/dev/null | tail -n 1)
[[ -n $switch ]] || skip "no CPU of this machine can be taken offline"
[[ $(cat "$switch") = 1 ]] || skip "$switch is offline already"
[[ -n ${TEST_HOTPLUG:-} ]] || skip "takes a CPU offline: TEST_HOTPLUG=1 allows it"
restore() {
    stop_background
    echo 1 >"$switch"
}
trap restore EXIT

start "$WORKLOADS/burn" 60
start "$WORKLOADS/burn" 60
start_recording -F 1999 -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
sleep 0.5
echo 0 >"$switch" || skip "the kernel refuses to take a CPU offline"
sleep 1
echo 1 >"$switch"
sleep 1
stop_recording
expect_account_adds_up "$TMPDIR/stats.json"
expect_near "share of burn_60" "$(folded_share "$TMPDIR/out.folded" burn_60 burn)" 60 8
