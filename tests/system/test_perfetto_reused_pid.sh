#!/bin/bash
# A pid that the kernel gives to another process during a recording: two processes in the trace, one
# after the other, each with its own name and its own samples.
# runs: in turn
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor
last_pid=/proc/sys/kernel/ns_last_pid
[[ -w $last_pid ]] || skip "this kernel does not let us choose a pid ($last_pid)"

# start_with_pid PID COMMAND…: others may be faster. True when the process has that pid.
start_with_pid() {
    echo $(($1 - 1)) >"$last_pid"
    start "${@:2}"
    ((PID == $1)) && return
    kill -KILL "$PID"
    return 1
}

# Whether a process has run for 0.2 s.
has_run() { awk '{ sub(/.*\) /, ""); exit $12 + $13 < 20 }' "/proc/$1/stat"; }

cp "$WORKLOADS/stacks" "$TMPDIR/early"
cp "$WORKLOADS/stacks" "$TMPDIR/late"
start_recording -a -F 499 -o "$TMPDIR/x.pftrace" --stats "$TMPDIR/x.json"
start "$TMPDIR/early" 100
pid=$PID
wait_until has_run "$pid"
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
is_taken=
for ((i = 0; i < 50; i++)); do
    start_with_pid "$pid" "$TMPDIR/late" 100 2>/dev/null && is_taken=1 && break
done
[[ -n $is_taken ]] || { stop_recording && skip "the pid could not be taken again"; }
wait_until has_run "$PID"
kill -KILL "$PID"
stop_recording

expect_rows "select name, count(*) > 0, sum((ts < middle) != (name = 'early'))
    from (select process.name as name, ps.ts as ts, (select start_ts from process
        where pid = $pid and name in ('late', 'bash') order by start_ts desc limit 1) as middle
    from perf_sample ps join thread using(utid) join process using(upid)
    where pid = $pid and process.name in ('early', 'late')) group by 1 order by 1" <<'END'
early|1|0
late|1|0
END
expect_rows "select count(distinct upid), count(distinct utid) >= 2 from thread
    join process using(upid) where pid = $pid and process.name in ('early', 'late')" <<'END'
2|1
END
check_trace "$TMPDIR/x.pftrace"
