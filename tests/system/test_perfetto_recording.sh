#!/bin/bash
# A recording as a trace: every sample is there with its time, thread, CPU and whole stack, on the
# stack region that it was taken on; images of one pid are told apart; fibers that a program
# declares are regions, and samples taken on a fiber lie in its occupancy.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

PROGRAMS=$(dirname "$WORKLOADS")/programs

count_samples() { sed -n 's/.*"samples": \([0-9]*\),.*/\1/p' "$1"; }

# A sample with the occupancy of a region that its thread was in at that time.
PLACED="(select ps.*, tid, thread.name as thread, s.track as region
    from perf_sample ps join thread using(utid)
    left join $SLICES s on s.parent_track = 'Stacks' and s.ts <= ps.ts and ps.ts <= s.ts + s.dur
        and s.name = thread.name || ' [' || tid || ']')"
# Whether a frame of this name is on a sample's stack, and how deep.
FRAMES="(with recursive level(sample, id, depth, frame, parent) as (
        select ps.id, c.id, c.depth, c.frame_id, c.parent_id
        from perf_sample ps join stack_profile_callsite c on c.id = ps.callsite_id
        union all select sample, c.id, c.depth, c.frame_id, c.parent_id
        from level join stack_profile_callsite c on c.id = level.parent)
    select sample, depth, name from level join stack_profile_frame f on f.id = level.frame)"

# ---- fibers, with their zones ---------------------------------------------------------------

record -F 997 --stats "$TMPDIR/stats.json" --zones "$TMPDIR/fibers.zones" \
    -o "$TMPDIR/fibers.folded" -o "$TMPDIR/fibers.pftrace" -- \
    env STACKWIDE_ZONES="$TMPDIR/fibers.zones" "$PROGRAMS/zones_fibers" 4 60 2000 >/dev/null
[[ -s $TMPDIR/fibers.folded ]] || fail "there is no folded file beside the trace"
samples=$(count_samples "$TMPDIR/stats.json")
((samples >= 100)) || fail "only $samples samples"

expect_rows "select count(*) - count(callsite_id) <= 5, count(*), sum(ts = 0) from perf_sample" <<END
1|$samples|0
END
expect_rows "select distinct value from counter join counter_track t on t.id = track_id
    where t.name in ('cpu-clock', 'cycles')" <<'END'
1003009
END
expect_rows "select name, count(distinct utid) from thread where name in ('left', 'right')
    group by 1" <<'END'
left|1
right|1
END
# Outermost to innermost: main's frames lie below those of what it calls.
expect_rows "select count(*) > 50, sum(a.depth >= b.depth) from $FRAMES a join $FRAMES b using(sample)
    where a.name = 'run_fiber' and b.name = 'keep_busy'" <<'END'
1|0
END
# What runs on a fiber by its stack is on a fiber's region at that time, and nothing else is. Between
# switching to a fiber and saying so a thread may lose its CPU for long, a few times at most.
expect_rows "select count(*) > 50, sum(region is null), sum(region not like 'fiber %') <= 3
    from $PLACED where id in (select sample from $FRAMES where name = 'run_fiber')" <<'END'
1|0|1
END
expect_rows "select parent_track, name, count(*) from $SLICES
    where track = 'zones' and name in ('inner', 'outer') group by 1, 2 order by 1, 2" <<'END'
fiber 0|inner|60
fiber 0|outer|60
fiber 1|inner|60
fiber 1|outer|60
fiber 2|inner|60
fiber 2|outer|60
fiber 3|inner|60
fiber 3|outer|60
END
# Slices of one region do not overlap; every fill goes back to 0.
expect_rows "select count(*) from $SLICES a join $SLICES b using(track_id)
    where a.parent_track = 'Stacks' and a.id < b.id and a.ts + a.dur > b.ts
    and b.ts + b.dur > a.ts" <<'END'
0
END
expect_rows "select sum(value != 0) from (select value, row_number() over
    (partition by track_id order by ts desc, counter.id desc) as age from counter
    join counter_track t on t.id = track_id where t.name = 'fill') where age = 1" <<'END'
0
END
check_trace "$TMPDIR/fibers.pftrace"

# ---- threads, names, an exec ----------------------------------------------------------------

QUERIES=()
rm "$TMPDIR/expected_rows"
broken=$'\xff\xfe;spin'
cp "$WORKLOADS/threads" "$TMPDIR/$broken"
record -F 499 --compress --stats "$TMPDIR/stats.json" -o "$TMPDIR/exec.pftrace" -- \
    bash -c 'i=0; while ((i < 300000)); do ((i += 1)); done; exec -a worker "$0" 2 2' \
    "$TMPDIR/$broken"
expect_rows "select count(*) from perf_sample" <<END
$(count_samples "$TMPDIR/stats.json")
END
# One pid, two processes, one after the other.
expect_rows "select count(distinct pid), count(distinct upid) from process
    where upid in (select upid from thread join perf_sample using(utid))" <<'END'
1|2
END
expect_rows "select count(*) > 20 from perf_sample join thread using(utid) join process using(upid)
    where process.name = 'bash'" <<'END'
1
END
expect_rows "select count(*) from perf_sample ps join thread using(utid) join process p using(upid)
    where p.name != 'bash' and ps.ts < p.start_ts" <<'END'
0
END
expect_rows "select track, count(distinct track_id) > 0 from $SLICES where parent_track = 'Stacks'
    and (track = '[stack]' or track like 'worker-_') group by 1 order by 1" <<'END'
[stack]|1
worker-a|1
worker-b|1
END
check_trace "$TMPDIR/exec.pftrace"

# ---- usage ----------------------------------------------------------------------------------

status=0
"$STACKWIDE" record -d 1 --zones x -o "$TMPDIR/x.folded" 2>"$TMPDIR/record.err" || status=$?
((status == 2)) || fail "--zones without a trace ended with status $status"
grep -q 'zones needs a trace' "$TMPDIR/record.err" || fail "it does not say why"
