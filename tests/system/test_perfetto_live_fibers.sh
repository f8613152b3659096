#!/bin/bash
# Fibers that move between threads, recorded while they run, with their zones and with scheduling:
# every fiber's region shows both threads, one after the other, with arrows from one to the next;
# its zones are whole; samples taken on a fiber lie in that fiber's region and in its occupancy.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

record -F 1997 --sched --stats "$TMPDIR/stats.json" --zones "$TMPDIR/fibers.zones" \
    -o "$TMPDIR/live.pftrace" -- \
    env STACKWIDE_ZONES="$TMPDIR/fibers.zones" \
    "$(dirname "$WORKLOADS")/programs/zones_fibers" 4 60 2000 >/dev/null
samples=$(stats_get "$TMPDIR/stats.json" samples)
((samples >= 100)) || fail "only $samples samples"
lost_switches=$(stats_get "$TMPDIR/stats.json" sched.lost)
unseen_switches=$(stats_get "$TMPDIR/stats.json" sched.lost.unseen)
lost_switches=$((lost_switches - unseen_switches))
echo "$samples samples, $(stats_get "$TMPDIR/stats.json" sched.switches) switches, $lost_switches lost, $unseen_switches unseen"

FIBERS="(select * from $SLICES where parent_track = 'Stacks' and track like 'fiber %')"
# A sample, with the fiber that its thread was on at that time.
SAMPLES="(select ps.id, ps.ts, tid, f.track_id from perf_sample ps join thread using(utid)
    left join $FIBERS f on f.ts <= ps.ts and ps.ts <= f.ts + f.dur
        and f.name = thread.name || ' [' || tid || ']')"
# Samples in code that only fibers run: by their stacks.
ON_FIBER="(with recursive level(sample, frame, parent) as (
        select ps.id, c.frame_id, c.parent_id
        from perf_sample ps join stack_profile_callsite c on c.id = ps.callsite_id
        union all select sample, c.frame_id, c.parent_id
        from level join stack_profile_callsite c on c.id = level.parent)
    select distinct sample from level join stack_profile_frame f on f.id = level.frame
    where f.name = 'run_fiber')"

# Nothing is lost on the way.
expect_rows "select count(*) from perf_sample" <<END
$samples
END
# Every fiber was on both threads, and never on two at a time.
expect_rows "select track, count(distinct name), count(*) >= 60 from $FIBERS group by 1 order by 1" <<'END'
fiber 0|2|1
fiber 1|2|1
fiber 2|2|1
fiber 3|2|1
END
expect_rows "select count(*) from $FIBERS a join $FIBERS b using(track_id)
    where a.id < b.id and a.ts + a.dur > b.ts and b.ts + b.dur > a.ts" <<'END'
0
END
# Its zones are whole; most inner ones end on another thread than they began on.
expect_rows "select parent_track, name, count(*), sum(dur > 0) from $SLICES
    where track = 'zones' and name in ('inner', 'outer') group by 1, 2 order by 1, 2" <<'END'
fiber 0|inner|60|60
fiber 0|outer|60|60
fiber 1|inner|60|60
fiber 1|outer|60|60
fiber 2|inner|60|60
fiber 2|outer|60|60
fiber 3|inner|60|60
fiber 3|outer|60|60
END
expect_rows "select count(*) > 120 from $SLICES z
    join $FIBERS a on a.track = z.parent_track and a.ts <= z.ts and z.ts < a.ts + a.dur
    join $FIBERS b on b.track = z.parent_track and b.ts < z.ts + z.dur and z.ts + z.dur <= b.ts + b.dur
    where z.track = 'zones' and z.name = 'inner' and a.name != b.name" <<'END'
1
END
# An arrow leads from every occupancy to the next one of another thread, and to nowhere else.
expect_rows "select count(*) > 200, sum(o.track_id != i.track_id), sum(o.name = i.name),
    sum(o.ts + o.dur > i.ts), count(*) = (select count(*) from (select name, lag(name)
    over (partition by track_id order by ts) as before from $FIBERS) where name != before)
    from flow join $FIBERS o on o.id = slice_out join $FIBERS i on i.id = slice_in" <<'END'
1|0|0|0|1
END
# What runs on a fiber by its stack was on a fiber's region, and who was elsewhere was not.
expect_rows "select count(*) > 50, sum(track_id is null) from $SAMPLES where id in $ON_FIBER" <<'END'
1|0
END
# The zones that are open at a sample on a fiber are those of that fiber.
expect_rows "select sum(zones.id is null) < 0.02 * count(*) from $SAMPLES s
    join track region on region.id = s.track_id
    left join $SLICES zones on zones.name = 'inner' and zones.parent_track = region.name
        and zones.ts <= s.ts and s.ts <= zones.ts + zones.dur
    where s.id in $ON_FIBER and exists (select 1 from $SLICES z where z.name = 'outer'
        and z.parent_track = region.name and z.ts <= s.ts and s.ts <= z.ts + z.dur)" <<'END'
1
END
# A thread that is sampled is on a CPU by the scheduling, too, unless the account says that some is lost.
# Where the kernel did not tell of a switch, it is not known what ran.
UNKNOWN="(select cpu, ts, dur from sched join thread using(utid) where name = '[unknown]')"
expect_rows "select count(*) > 50, $lost_switches > 0 or sum(cpu is not null) > 0.9 * count(*) from
    (select ps.id, sched.cpu from perf_sample ps left join sched on sched.utid = ps.utid
        and sched.ts <= ps.ts and ps.ts <= sched.ts + sched.dur
    where ps.id in $ON_FIBER and not exists (select 1 from $UNKNOWN u
        where u.cpu = ps.cpu and u.ts <= ps.ts and ps.ts <= u.ts + u.dur))" <<'END'
1|1
END
# Such are only where the account counts them.
expect_rows "select count(*) <= $unseen_switches from $UNKNOWN" <<'END'
1
END
# Every fill goes back to 0.
expect_rows "select sum(value != 0) from (select value, row_number() over
    (partition by track_id order by ts desc, counter.id desc) as age from counter
    join counter_track t on t.id = track_id where t.name = 'fill') where age = 1" <<'END'
0
END
check_trace "$TMPDIR/live.pftrace"
