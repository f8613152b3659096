#!/bin/bash
# A process that calls exec again and again: one process in the trace for each program, in their
# order, each with its own samples.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

for name in one two three four five; do
    cp "$(command -v bash)" "$TMPDIR/$name"
done
spin='for ((i = 0; i < 100000; i++)); do :; done'
record -F 499 -o "$TMPDIR/x.pftrace" -- "$TMPDIR/one" -c \
    "$spin; exec $TMPDIR/two -c '$spin; exec $TMPDIR/three -c \"$spin; exec $TMPDIR/four -c \\\"$spin; exec $TMPDIR/five -c \\\\\\\"$spin\\\\\\\"\\\"\"'"
expect_rows "select process.name, count(distinct upid), count(*) > 20 from perf_sample
    join thread using(utid) join process using(upid)
    where process.name in ('one', 'two', 'three', 'four', 'five')
    group by 1 order by min(perf_sample.ts)" <<'END'
one|1|1
two|1|1
three|1|1
four|1|1
five|1|1
END
expect_rows "select count(distinct pid), count(*), count(distinct start_ts) from process
    where name in ('one', 'two', 'three', 'four', 'five')" <<'END'
1|5|5
END
check_trace "$TMPDIR/x.pftrace"
