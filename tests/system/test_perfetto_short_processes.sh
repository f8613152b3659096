#!/bin/bash
# Very many short-lived processes are shown as one, with all of their samples and the names of their
# threads; to us they stay what they were.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor
cd "$TMPDIR"

record -F 1997 --stats stats.json -o x.folded -o x.pftrace -- \
    bash -c 'for ((i = 0; i < 200; i++)); do /bin/true; done; "$0" 0.2' "$WORKLOADS/burn"
samples=$(stats_get stats.json samples)

expect_rows "select count(*) from perf_sample" <<END
$samples
END
# The group, and nobody beside it that belongs there.
expect_rows "select name, count(*) from process where name like 'short-lived%' group by 1" <<'END'
short-lived children of bash|1
END
expect_rows "select count(*) from (select upid, count(*) as n from perf_sample join thread using(utid)
    join process using(upid) where process.name = 'true' group by 1) where n <= 2" <<'END'
0
END
# Two samples at most are of each image of a process. One inside an exec is of the image before, but its time may lie
# behind the exec, where the thread is the next image's: that may have four.
expect_rows "select count(*) > 2, sum(thread.name not in ('true', 'bash')), max(n) <= 4 from
    (select utid, count(*) as n from perf_sample group by 1) join thread using(utid) join process using(upid)
    where process.name = 'short-lived children of bash'" <<'END'
1|0|1
END
# What has more samples, or lives on, stands alone.
expect_rows "select name, count(*) >= 1 from process where name in ('bash', 'burn') group by 1" <<'END'
bash|1
burn|1
END
# No tracks of theirs but the samples.
expect_rows "select count(*) from track t join process_track p using(id) join process using(upid)
    where process.name like 'short-lived%'" <<'END'
0
END
check_trace x.pftrace

expect_status 0 "$STACKWIDE" convert x.pftrace -o y.folded
diff x.folded y.folded | head -n 20
cmp x.folded y.folded || fail "the trace has other samples than the folded file"
