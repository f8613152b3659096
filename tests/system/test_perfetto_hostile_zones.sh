#!/bin/bash
# Zones that a trace could get wrong without a word: fibers that migrate, flows with any number, names
# with NUL and broken UTF-8, a value of 3 MB, what is open at the end, and more zones in one another
# than the trace processor takes. A file, and the same through a pipe, go different ways.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_trace_processor

{
    cat <<'END'
#! process 900 game
LOCATION, 1, main, f, f.c, 1
LOCATION, 2, fiber, g, g.c, 2
STACK, 0x10000, 0x20000, same
STACK, 0x20000, 0x30000, same
ZONE_START, 900000, 1, 1, 1
ZONE_START, 700000, 2, 1, 1
ZONE_FLOW, 700000, 0
ZONE_FLOW, 700000, 9223372036854775808
ZONE_FLOW, 700000, 77
ZONE_START, 0x1f000, 1, 10, 2
ZONE_START, 0x1e000, 2, 20, 2
ZONE_FLOW_T, 0x1e000, 0
ZONE_FLOW_T, 0x1e000, 9223372036854775808
ZONE_FLOW_T, 0x1e000, 78
ZONE_END, 0x1e000, 30
ZONE_START, 0x1e000, 1, 30, 2
ZONE_CATEGORY, 900000, late
ZONE_END, 0x1e000, 40
ZONE_NAME, 0x1f000, late
ZONE_END, 0x1f000, 50
ZONE_START, 0x20000, 1, 52, 2
ZONE_END, 0x20000, 54
ZONE_END, 700000, 60
END
    printf 'ZONE_PARAM, 900000, n\0l, a\0b\nZONE_PARAM, 900000, broken\xff, \xed\xa0\x80\n'
    printf 'ZONE_PARAM, 900000, long, %s\n' "$(head -c 3000000 /dev/zero | tr '\0' x)"
    # On another stack: 600 zones in one another.
    for ((i = 0; i < 600; i++)); do echo "ZONE_START, $((5000000 - i)), 3, $((1000 + i)), 2"; done
    for ((i = 599; i >= 0; i--)); do echo "ZONE_END, $((5000000 - i)), $((2200 - i))"; done
} >"$TMPDIR/a.zones"
"$STACKWIDE" convert "$TMPDIR/a.zones" -o "$TMPDIR/a.pftrace" 2>"$TMPDIR/warnings"
"$STACKWIDE" convert - <"$TMPDIR/a.zones" -o "$TMPDIR/kept.pftrace"
"$STACKWIDE" convert "$TMPDIR/a.zones" --compress -o "$TMPDIR/compressed.pftrace"
grep -q '88 zones are missing' "$TMPDIR/warnings" || fail "what is left out is not told"
grep -q '1 zones were still open at the end: they end at 2200 ns' "$TMPDIR/warnings" ||
    fail "what is open is not told"

expect_rows "select ts, dur, depth, name, category, parent_track from $SLICES
    where track = 'zones' and ts < 1000 order by ts, dur desc" <<'END'
1|2199|0|main|late|Stack @900000
1|59|0|main||Stack @700000
10|40|0|late||same
20|10|1|fiber||same
30|10|1|fiber||same
52|2|0|fiber||same
END
expect_rows "select ts, dur, name, track from $SLICES where parent_track = 'Stacks' order by ts, name" <<'END'
1|9|Unknown [1]|Stack @900000
1|19|Unknown [2]|Stack @700000
10|10|Unknown [1]|same
20|10|Unknown [2]|same
30|20|Unknown [1]|same
50|2|Unknown [1]|Stack @900000
52|2|Unknown [1]|same
54|2146|Unknown [1]|Stack @900000
1000|1200|Unknown [3]|Stack @5000000
END
expect_rows "select o.ts, o.name, i.ts, i.name from flow
    join slice o on o.id = slice_out join slice i on i.id = slice_in order by 1, 2, 3" <<'END'
1|main|20|fiber
1|main|20|fiber
10|Unknown [1]|20|Unknown [2]
20|Unknown [2]|30|Unknown [1]
END
expect_rows "select key, length(display_value), substr(display_value, 1, 4) from args
    where key like 'debug.Parameters.%' order by 1" <<'END'
debug.Parameters.broken�|3|���
debug.Parameters.long|3000000|xxxx
debug.Parameters.n�l|3|a�b
END
expect_rows "select count(*), max(depth), min(dur), max(dur) from $SLICES
    where track = 'zones' and ts >= 1000" <<'END'
512|511|178|1200
END
# The fill is told of all.
expect_rows "select count(*), max(value), min(value) from counter
    join counter_track on counter_track.id = track_id where name = 'fill' and ts >= 1000 and ts < 2200" <<'END'
1199|1815|1216
END

check_trace "$TMPDIR/a.pftrace"
check_trace "$TMPDIR/kept.pftrace"
check_trace "$TMPDIR/compressed.pftrace"
