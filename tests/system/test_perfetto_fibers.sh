#!/bin/bash
# Fibers that move between threads, as a trace: every fiber's track shows both threads, one after
# the other, its zones are whole across the moves, and arrows lead from thread to thread.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_trace_processor

STACKWIDE_ZONES=$TMPDIR/fibers.zones "$(dirname "$WORKLOADS")/programs/zones_fibers" 4 500 >/dev/null
"$STACKWIDE" convert "$TMPDIR/fibers.zones" -o "$TMPDIR/fibers.pftrace"

expect_rows "select parent_track, name, depth, count(*), min(dur) >= 0 from $SLICES
    where track = 'zones' group by 1, 2, 3 order by 1, 2" <<'END'
fiber 0|goes on|1|500|1
fiber 0|goes on|2|500|1
fiber 0|inner|1|500|1
fiber 0|outer|0|500|1
fiber 1|goes on|1|500|1
fiber 1|goes on|2|500|1
fiber 1|inner|1|500|1
fiber 1|outer|0|500|1
fiber 2|goes on|1|500|1
fiber 2|goes on|2|500|1
fiber 2|inner|1|500|1
fiber 2|outer|0|500|1
fiber 3|goes on|1|500|1
fiber 3|goes on|2|500|1
fiber 3|inner|1|500|1
fiber 3|outer|0|500|1
END
expect_rows "select count(distinct track), count(distinct track || substr(name, 1, 4)) from $SLICES
    where parent_track = 'Stacks' and track like 'fiber %'" <<'END'
4|8
END
expect_rows "select count(*) from $SLICES a join $SLICES b using(track_id)
    where a.parent_track = 'Stacks' and a.id < b.id and a.ts + a.dur > b.ts
    and b.ts + b.dur > a.ts" <<'END'
0
END
# Every hand-over to another thread has its arrow; so has every mark but the first of a fiber.
expect_rows "select count(*) = (select count(*) from (select name, lag(name) over
    (partition by track_id order by ts) as before from $SLICES where parent_track = 'Stacks')
    where name != before)
    from flow join $SLICES o on o.id = slice_out where o.parent_track = 'Stacks'" <<'END'
1
END
expect_rows "select o.parent_track, count(*) from flow join $SLICES o on o.id = slice_out
    where o.name = 'goes on' group by 1 order by 1" <<'END'
fiber 0|999
fiber 1|999
fiber 2|999
fiber 3|999
END
expect_rows "select name, value from (select parent.name, value, row_number() over
    (partition by track_id order by ts desc, counter.id desc) as age from counter
    join counter_track on counter_track.id = track_id join track on track.id = track_id
    join track parent on parent.id = track.parent_id where counter_track.name = 'fill')
    where age = 1 order by 1" <<'END'
fiber 0|0
fiber 1|0
fiber 2|0
fiber 3|0
END
check_trace "$TMPDIR/fibers.pftrace"
