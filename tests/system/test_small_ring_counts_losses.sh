#!/bin/bash
# With a ring much too small samples are lost, every one of them is counted, and the sum holds.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

start "$WORKLOADS/spawn" 600 "$WORKLOADS/short_lived" >/dev/null
for _ in $(seq "$(nproc)"); do
    start "$WORKLOADS/deep" 600
done
program=$PID
start_recording -a -F 1999 --buffer-size 4096 -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
# While nobody reads it, ticks make more samples of one program alone than the ring has room for: each
# needs 72 bytes at least.
kill -STOP "$RECORDER"
wait_for_cpu_time 1000 "$program"
kill -CONT "$RECORDER"
wait_for_cpu_time 300 "$program"
stop_recording
expect_account_adds_up "$TMPDIR/stats.json"
expect_between "lost samples" "$(stats_get "$TMPDIR/stats.json" lost)" 1 1e9
[[ $(stats_get "$TMPDIR/stats.json" samples) = "$(folded_total "$TMPDIR/out.folded")" ]] ||
    fail "samples differ from the sum of the folded file"
grep -qE '^ +lost +[1-9]' "$TMPDIR/record.err" || fail "the summary does not tell: $(cat "$TMPDIR/record.err")"
stop_background

# Waits and those who end them need room in the same ring.
start "$WORKLOADS/nofp_waits" 600 >/dev/null
program=$PID
count_switches() { cat "/proc/$program/task"/*/status | awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum }'; }
# has_switched NUMBER: so many times since switches_before was counted
has_switched() { (($(count_switches) > switches_before + $1)); }
start_recording -p "$program" --off-cpu --wakers --period 1ms --buffer-size 4096 -o "$TMPDIR/waits.offwake.folded" --stats "$TMPDIR/waits.json"
kill -STOP "$RECORDER"
switches_before=$(count_switches)
wait_until has_switched 1000
kill -CONT "$RECORDER"
switches_before=$(count_switches)
wait_until has_switched 200
stop_recording
expect_account_adds_up "$TMPDIR/waits.json"
expect_off_cpu_adds_up "$TMPDIR/waits.json"
expect_between "lost waits" "$(stats_get "$TMPDIR/waits.json" off_cpu.lost)" 1 1e9
expect_between "wakers that found no room" "$(stats_get "$TMPDIR/waits.json" off_cpu.wakers.lost_ring)" 1 1e9
expect_between "wakers that are known" "$(stats_get "$TMPDIR/waits.json" off_cpu.wakers.known)" 1 1e9
