#!/bin/bash
# A trace that is read agrees with what the trace processor finds in the same file: number of
# samples, weight of the flame graph's root, weight of a thread's stacks; time in zones.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_command python3
need_trace_processor

"$REPO/tests/bench/make_folded" 500 >"$TMPDIR/in.folded"
"$STACKWIDE" convert "$TMPDIR/in.folded" -o "$TMPDIR/a.pftrace"
"$STACKWIDE" convert "$TMPDIR/a.pftrace" -o "$TMPDIR/out.folded"
cmp "$TMPDIR/in.folded" "$TMPDIR/out.folded" || fail "the stacks differ from those written"
"$STACKWIDE" report "$TMPDIR/a.pftrace" --json >"$TMPDIR/report.json"

expect_rows "select count(*), count(distinct callsite_id) from perf_sample" <<END
$(wc -l <"$TMPDIR/out.folded")|$(wc -l <"$TMPDIR/out.folded")
END
# The weight of all samples is that of the root; their values are those of the counter.
expect_rows "select cast(sum(value) as int) from counter" <<END
$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["total"])' "$TMPDIR/report.json")
END
expect_rows "select count(distinct name) from stack_profile_frame" <<END
$(sed 's/ [0-9]*$//' "$TMPDIR/out.folded" | tr ';' '\n' | sort -u | wc -l)
END
check_trace "$TMPDIR/a.pftrace"

cat >"$TMPDIR/a.zones" <<'END'
THREAD, 1, main
THREAD, 2, worker
STACK, 4096, 8192, fiber
LOCATION, 1, work, do_work, a.c, 3
LOCATION, 2, wait, do_wait, a.c, 9
ZONE_START, 8000, 1, 100, 1
ZONE_START, 7000, 2, 150, 2
ZONE_END, 7000, 180
ZONE_END, 8000, 250
ZONE_START, 70000, 1, 300, 2
ZONE_END, 70000, 310
END
"$STACKWIDE" convert "$TMPDIR/a.zones" -o "$TMPDIR/zones.pftrace"
"$STACKWIDE" convert "$TMPDIR/zones.pftrace" -o "$TMPDIR/zones.folded"
QUERIES=()
: >"$TMPDIR/expected_rows"
expect_rows "select sum(dur) from $SLICES where track = 'zones' and depth = 0" <<END
$(awk '{ sum += $NF } END { print sum }' "$TMPDIR/zones.folded")
END
check_trace "$TMPDIR/zones.pftrace"
