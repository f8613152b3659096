#!/bin/bash
# Ticks that are due and do not come, as the kernel throttles them, are in the account: as many fired as the timers ran for.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

# Ticks of all CPUs fire, and are of other threads: samples of all would take longer than their period.
start sleep 600
record -e cpu-clock -F 100000 -d 1 -p "$PID" -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
expect_account_adds_up "$TMPDIR/stats.json"
python3 -S - "$TMPDIR/stats.json" <<'PYTHON' || fail "the account: $(cat "$TMPDIR/stats.json")"
import json, sys
stats = json.load(open(sys.argv[1]))
clock, = stats["events"]
due = clock["running_ns"] / 10000
print(f"{clock['fired']} ticks, {due} periods of 10 us; {clock['lost']['undelivered']} were not delivered")
# Each CPU may have begun a period that it has not finished.
assert due - stats["cpus"] <= clock["fired"] <= due
PYTHON
undelivered=$(stats_get "$TMPDIR/stats.json" lost.undelivered)
if ((undelivered)); then
    grep -q 'ticks were not delivered: the kernel throttled them' "$TMPDIR/record.err" || fail "the summary: $(cat "$TMPDIR/record.err")"
fi
