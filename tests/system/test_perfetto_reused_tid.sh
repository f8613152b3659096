#!/bin/bash
# A tid that the kernel gives to a later thread of the same process: two threads in the trace, one
# after the other, each with its own name and its own samples.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor
last_pid=/proc/sys/kernel/ns_last_pid
[[ -w $last_pid ]] || skip "this kernel does not let us choose a pid ($last_pid)"

status=0
"$STACKWIDE" record -q -F 499 -o "$TMPDIR/x.pftrace" -- "$WORKLOADS/same_tid" 0.3 >"$TMPDIR/tid" || status=$?
((status != 3)) || skip "the tid could not be taken again"
((status == 0)) || fail "same_tid failed with status $status"
tid=$(cat "$TMPDIR/tid")

expect_rows "select name, count(*) > 50, min(ps.ts) >= coalesce(start_ts, 0),
    max(ps.ts) <= coalesce(end_ts, 9e18) from perf_sample ps join thread using(utid)
    where tid = $tid group by utid order by min(ps.ts)" <<'END'
early|1|1|1
late|1|1|1
END
# What they were on: the slices of their tracks are their own, too.
expect_rows "select thread.name, count(*) > 0, count(distinct tt.id)
    from slice join thread_track tt on tt.id = slice.track_id join thread using(utid)
    where tt.name = 'stack in use' and tid = $tid group by utid order by min(slice.ts)" <<'END'
early|1|1
late|1|1
END
expect_rows "select count(distinct upid) from thread where tid = $tid and name in ('early', 'late')" <<'END'
1
END
check_trace "$TMPDIR/x.pftrace"
