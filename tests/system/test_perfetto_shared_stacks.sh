#!/bin/bash
# Coroutines whose stacks share a mapping, and that no zones declare: each stack is a region, and what
# runs on one by its stack is on its region.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

# Four pairs of them, each with two stacks of 64 KiB in one array; on two threads by turns.
record -F 997 --stats "$TMPDIR/stats.json" -o "$TMPDIR/x.pftrace" -- "$WORKLOADS/nofp_coroutine" 1

# The sample's region is the one that its thread came to last.
PLACED="(select ps.id, (select s.track_id from $SLICES s where s.parent_track = 'Stacks' and s.ts <= ps.ts
        and s.name = thread.name || ' [' || tid || ']' order by s.ts desc, s.id desc limit 1) as region
    from perf_sample ps join thread using(utid))"
FUNCTIONS="(with recursive level(sample, frame, parent) as (
        select ps.id, c.frame_id, c.parent_id
        from perf_sample ps join stack_profile_callsite c on c.id = ps.callsite_id
        union all select sample, c.frame_id, c.parent_id
        from level join stack_profile_callsite c on c.id = level.parent)
    select distinct sample, f.name from level join stack_profile_frame f on f.id = level.frame
    where f.name in ('run_ping', 'run_pong'))"
expect_rows "select name, count(*) > 50, count(distinct region), sum(region is null)
    from $FUNCTIONS f join $PLACED p on p.id = f.sample group by 1 order by 1" <<'END'
run_ping|1|4|0
run_pong|1|4|0
END
# No region is of both.
expect_rows "select count(*) from (select region from $FUNCTIONS f join $PLACED p on p.id = f.sample
    group by 1 having count(distinct name) > 1)" <<'END'
0
END
# So much of a stack is in use at most.
expect_rows "select max(value) between 1 and 65536 from counter c join track t on t.id = c.track_id
    join track region on region.id = t.parent_id where t.name = 'fill' and region.name like 'stack 0x%'" <<'END'
1
END
check_trace "$TMPDIR/x.pftrace"
