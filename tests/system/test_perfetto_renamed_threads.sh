#!/bin/bash
# A thread that changes its name has its last one in a trace, whether samples show it or switches alone.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

record -F 499 --sched -o "$TMPDIR/x.pftrace" -- "$WORKLOADS/renames" 0.5
expect_rows "select thread.name, count(*) from thread join process using(upid)
    where process.name = 'renames' and thread.name != 'renames' group by 1 order by 1" <<'END'
late-busy|1
late-idle|1
END
check_trace "$TMPDIR/x.pftrace"
