#!/bin/bash
# Who the processes of a trace are: parent, user, command line, begin and end; all that a process did
# lies between these two.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

PROCESSES="(select p.*, parent.name as parent, parent.pid as parent_pid
    from process p left join process parent on parent.upid = p.parent_upid)"

# The shell starts one, and becomes the other.
record -F 499 --sched -o "$TMPDIR/x.pftrace" -- \
    bash -c '"$0" 0.2; for ((i = 0; i < 50000; i++)); do :; done; exec "$0" 0.3' "$WORKLOADS/burn"
expect_rows "select cmdline, uid, parent, start_ts > 0, end_ts > start_ts from $PROCESSES
    where name = 'burn' and cmdline like '% 0.2'" <<END
$WORKLOADS/burn 0.2|$(id -u)|bash|1|1
END
expect_rows "select cmdline, uid, start_ts > 0, end_ts > start_ts, parent_pid > 1 from $PROCESSES
    where name = 'burn' and cmdline like '% 0.3'" <<END
$WORKLOADS/burn 0.3|$(id -u)|1|1|1
END
# A shell that has not called exec yet may have been seen, too.
expect_rows "select name, count(distinct pid) <= 2, count(*) >= 1 from process where name in ('bash', 'burn')
    group by 1" <<'END'
bash|1|1
burn|1|1
END
expect_rows "select min(bash.end_ts < burn.start_ts) from process bash join process burn using(pid)
    where bash.name = 'bash' and burn.name = 'burn'" <<'END'
1
END
# Nothing of a process before it was, nor after; no thread without a process where that is known.
expect_rows "select process.name, count(*) > 20, sum(ts < process.start_ts or ts > process.end_ts)
    from perf_sample join thread using(utid) join process using(upid) where process.name = 'burn' group by 1" <<'END'
burn|1|0
END
expect_rows "select count(*) from sched join thread using(utid)
    where upid is null and tid in (select pid from process where name = 'burn')" <<'END'
0
END
# An exec ends what its thread was on; what begins is on its main stack from the first sample on.
expect_rows "select count(*) > 0, sum(s.ts + s.dur > p.end_ts) from $SLICES s
    join process p on s.name = p.name || ' [' || p.pid || ']' where s.parent_track = 'Stacks' and p.name = 'bash'" <<'END'
1|0
END
expect_rows "select distinct track from $SLICES where parent_track = 'Stacks' and name like 'burn [%'" <<'END'
[stack]
END
# What became of them is told on their threads, at the time, in the process that each belongs to.
expect_rows "select s.name, process.name, s.ts >= process.start_ts and s.ts <= process.end_ts,
    ifnull(extract_arg(s.arg_set_id, 'debug.name'), ''),
    extract_arg(s.arg_set_id, 'debug.child') = (select pid from process where cmdline like '% 0.2')
    from slice s join thread_track t on t.id = s.track_id join thread using(utid) join process using(upid)
    where s.category = 'process' and process.name in ('bash', 'burn') order by s.ts" <<'END'
exec|bash|1|bash|
fork|bash|1||1
exec|burn|1|burn|
exit|burn|1||
exec|burn|1|burn|
exit|burn|1||
END
check_trace "$TMPDIR/x.pftrace"

# Read and written again, it is the same.
expect_status 0 "$STACKWIDE" convert "$TMPDIR/x.pftrace" -o "$TMPDIR/y.pftrace"
check_trace "$TMPDIR/y.pftrace"

# Many that run one program differ in their command lines; without scheduling, too.
QUERIES=()
rm "$TMPDIR/expected_rows"
record -F 499 -o "$TMPDIR/x.pftrace" -- bash -c 'for i in 0.11 0.12 0.13; do "$0" $i & done; wait' \
    "$WORKLOADS/burn"
expect_rows "select name, replace(cmdline, '$WORKLOADS/', ''), end_ts > start_ts from process
    where name = 'burn' order by 2" <<'END'
burn|burn 0.11|1
burn|burn 0.12|1
burn|burn 0.13|1
END
check_trace "$TMPDIR/x.pftrace"
