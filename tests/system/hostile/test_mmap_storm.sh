#!/bin/bash
# A user's program that maps and unmaps code of a very long path as fast as it can: events of that are
# lost, but /proc is not read all the time for it, others' stacks stay whole, and the recorder small.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/unharmed.sh"
need_recording
need_command setpriv

folder=$(mktemp -d /var/tmp/stackwide-hostile.XXXXXX)
trap 'stop_background; rm -rf "$folder"' EXIT
chmod 777 "$folder"
exec 9<"$WORKLOADS/hostile/mmap_storm"
start "${as_attacker[@]}" /proc/self/fd/9 60 "$folder" 2 >"$TMPDIR/mapped"
wait_until test -s "$TMPDIR/mapped"
start_victim

start_attacked -v
sleep 4
stop_unharmed
lost=$(stats_get "$TMPDIR/stats.json" processes.lost_events)
scans=$(grep -c "rescanning /proc" "$TMPDIR/record.err" || true)
echo "$lost events lost, $scans scans"
((lost > 1000)) || skip "the recorder is as fast as the storm here"
((scans <= 50)) || fail "/proc was read $scans times"
