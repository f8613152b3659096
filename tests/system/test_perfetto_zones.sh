#!/bin/bash
# Zones as a Perfetto trace: what went in is what the trace processor finds, every attribute, every
# track in its place, and every fill ends at 0.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_trace_processor

cat >"$TMPDIR/a.zones" <<'END'
#! process 900 game
THREAD, 900, main
THREAD, 901, worker
STACK, 0x10000, 0x20000, main stack
STACK, 0x40000, 0x50000, fiber
LOCATION, 1, Frame, run_frame, src/game.c, 42
LOCATION, 2, Job, run_job, src/job.c, 7
COUNTER_TRACK, 1, queue
ZONE_START, 0x1f000, 900, 1000, 1
ZONE_CATEGORY, 0x1f000, game
ZONE_CATEGORY, 0x1f000, io
ZONE_PARAM, 0x1f000, level, 3
ZONE_PARAM, 0x1f000, "a ""name"", quoted", 'é'
ZONE_PARAM, 0x1f000, level, 4
ZONE_FLOW, 0x1f000, 77
ZONE_START, 0x1e000, 900, 1100, 2
ZONE_NAME, 0x1e000, inner
ZONE_END, 0x1e000, 1200
ZONE_START, 0x4f000, 900, 1300, 2
ZONE_END, 0x4f000, 1400
ZONE_END, 0x1f000, 1500
ZONE_START, 0x4f000, 901, 1600, 2
ZONE_FLOW_T, 0x4f000, 77
ZONE_END, 0x4f000, 1700
ZONE_START, 0x4f000, 901, 1700, 2
ZONE_END, 0x4f000, 1700
COUNTER_VALUE, 1, 1050, -3
COUNTER_VALUE, 1, 1060, 2.5
END
"$STACKWIDE" convert "$TMPDIR/a.zones" -o "$TMPDIR/a.pftrace"
"$STACKWIDE" convert "$TMPDIR/a.zones" --compress -o "$TMPDIR/compressed.pftrace"
# What cannot be read a second time is kept in memory and takes another way.
"$STACKWIDE" convert - <"$TMPDIR/a.zones" -o "$TMPDIR/kept.pftrace"

expect_rows "select ts, dur, depth, name, category, parent_track from $SLICES
    where track = 'zones' order by ts, dur desc" <<'END'
1000|500|0|Frame|game,io|main stack
1100|100|1|inner||main stack
1300|100|0|Job||fiber
1600|100|0|Job||fiber
1700|0|0|Job||fiber
END
expect_rows "select slice.name, key, display_value from args join slice using(arg_set_id)
    where key like 'debug.Parameters.%' order by 2" <<'END'
Frame|debug.Parameters.a "name", quoted|'é'
Frame|debug.Parameters.level|4
END
expect_rows "select distinct slice.name, key, display_value
    from args join slice using(arg_set_id) where key like 'source.%' order by 1, 2" <<'END'
Frame|source.file_name|src/game.c
Frame|source.function_name|run_frame
Frame|source.line_number|42
Job|source.file_name|src/job.c
Job|source.function_name|run_job
Job|source.line_number|7
inner|source.file_name|src/job.c
inner|source.function_name|run_job
inner|source.line_number|7
END

# Who was on which stack, and from where it changed hands.
expect_rows "select ts, dur, name, track, parent_track from $SLICES
    where parent_track = 'Stacks' order by ts" <<'END'
1000|300|main [900]|main stack|Stacks
1300|100|main [900]|fiber|Stacks
1400|100|main [900]|main stack|Stacks
1600|100|worker [901]|fiber|Stacks
END
expect_rows "select ts, dur, slice.name, thread.tid from slice
    join thread_track on thread_track.id = track_id join thread using(utid) order by ts" <<'END'
1000|300|main stack|900
1300|100|fiber|900
1400|100|main stack|900
1600|100|fiber|901
END
expect_rows "select o.ts, o.name, i.ts, i.name from flow
    join slice o on o.id = slice_out join slice i on i.id = slice_in order by 2" <<'END'
1000|Frame|1600|Job
1300|main [900]|1600|worker [901]
END

# Counters.
expect_rows "select parent.name, ts, value, counter_track.unit from counter
    join counter_track on counter_track.id = track_id join track on track.id = track_id
    join track parent on parent.id = track.parent_id
    where counter_track.name = 'fill' order by 1, 2" <<'END'
fiber|1300|4096|bytes
fiber|1400|0|bytes
fiber|1600|4096|bytes
fiber|1700|0|bytes
fiber|1700|4096|bytes
fiber|1700|0|bytes
main stack|1000|4096|bytes
main stack|1100|8192|bytes
main stack|1200|4096|bytes
main stack|1500|0|bytes
END
expect_rows "select name, ts, value from counter join counter_track on
    counter_track.id = track_id where name != 'fill' order by name, ts" <<'END'
Known stacks total size|1000|65536
Known stacks total size|1300|131072
Known stacks total size|1400|65536
Known stacks total size|1500|0
Known stacks total size|1600|65536
Known stacks total size|1700|0
Number of stacks|1000|1
Number of stacks|1300|2
Number of stacks|1400|1
Number of stacks|1500|0
Number of stacks|1600|1
Number of stacks|1700|0
queue|1050|-3
queue|1060|2.5
END

# The tree of tracks.
expect_rows "select parent.name, track.name,
    extract_arg(track.source_arg_set_id, 'sibling_order_rank'),
    extract_arg(track.source_arg_set_id, 'child_ordering'),
    extract_arg(track.source_arg_set_id, 'description')
    from track join track parent on parent.id = track.parent_id order by 1, 3" <<'END'
Stacks|main stack|1|explicit|[0x10000, 0x20000)
Stacks|fiber|2|explicit|[0x40000, 0x50000)
fiber|zones|1||
fiber|fill|2||
main stack|zones|1||
main stack|fill|2||
END
expect_rows "select pid, process.name, tid, thread.name from thread
    join process using(upid) where pid != 0 order by tid" <<'END'
900|game|900|main
900|game|901|worker
END

check_trace "$TMPDIR/a.pftrace"
check_trace "$TMPDIR/compressed.pftrace"
check_trace "$TMPDIR/kept.pftrace"
