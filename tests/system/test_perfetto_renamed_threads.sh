#!/bin/bash
# A thread that changes its name has its last one in a trace, whether samples show it or switches alone; read again,
# each sample has the name of its time.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

record -F 499 --sched -o "$TMPDIR/x.pftrace" -o "$TMPDIR/x.folded" -- "$WORKLOADS/renames" 0.5
expect_rows "select thread.name, count(*) from thread join process using(upid)
    where process.name = 'renames' and thread.name != 'renames' group by 1 order by 1" <<'END'
late-busy|1
late-idle|1
END
check_trace "$TMPDIR/x.pftrace"
"$STACKWIDE" convert "$TMPDIR/x.pftrace" -o "$TMPDIR/y.folded"
"$STACKWIDE" convert "$TMPDIR/x.pftrace" -o "$TMPDIR/y.pftrace"
"$STACKWIDE" convert "$TMPDIR/y.pftrace" -o "$TMPDIR/z.folded"
for name in early-busy late-busy; do
    grep -q "^$name;" "$TMPDIR/x.folded" || fail "no samples of $name"
done
for file in y z; do
    diff "$TMPDIR/x.folded" "$TMPDIR/$file.folded" || fail "the trace has other names"
done
