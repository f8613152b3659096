#!/bin/bash
# A recording of probes ends when it is told to: the seconds in which probes are taken away are no part of it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

start "$WORKLOADS/burn" 600
start_ns=$(date +%s%N)
start_recording -e "uprobe:$WORKLOADS/burn:burn_60" -c 1 -p "$PID" -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
# It waits five seconds for the process that holds the probes, and leaves them to it then.
keeper=$(pgrep -P "$RECORDER" -x stackwide-keep) || fail "no process holds the probes"
kill -STOP "$keeper"
kill -INT "$RECORDER"
stop_ns=$(date +%s%N)
end_recording
end_ns=$(date +%s%N)
kill -CONT "$keeper"
((end_ns - stop_ns >= 4000000000)) || fail "it did not wait for its probes"
duration_ns=$(stats_get "$TMPDIR/stats.json" duration_ns)
echo "recorded $((duration_ns / 1000000)) ms of the $(((stop_ns - start_ns) / 1000000)) ms until the signal; it took $(((end_ns - start_ns) / 1000000)) ms in all"
((duration_ns < stop_ns - start_ns + 3000000000)) || fail "the time of taking probes away is part of the recording"
