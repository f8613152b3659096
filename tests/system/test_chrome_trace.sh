#!/bin/bash
# A trace in the JSON of Chrome becomes the one that the trace processor makes of it: the same
# slices, with the same times, nested the same, and the same counters.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_command python3
need_trace_processor

# Threads of two processes, with slices in one event or two, in no order; operations; counters.
python3 >"$TMPDIR/a.json" <<'PYTHON'
import json, random

random.seed(7)
events = []

def add(pid, tid, begin, end, depth):
    name = f"work {random.randrange(9)}"
    event = {"name": name, "cat": "c", "pid": pid, "tid": tid, "ts": begin}
    if random.random() < 0.5:
        events.append({**event, "ph": "X", "dur": end - begin, "args": {"depth": depth}})
    else:
        events.append({**event, "ph": "B", "args": {"depth": depth}})
        events.append({"pid": pid, "tid": tid, "ts": end, "ph": "E"})
    while depth < 6 and end - begin > 20 and random.random() < 0.8:
        begin += random.randrange(1, 9)
        inner = min(end - 1, begin + random.randrange(1, 60))
        if inner <= begin:
            break
        add(pid, tid, begin, inner, depth + 1)
        begin = inner

for pid, tid in [(1, 1), (1, 2), (5, 6)]:
    for i in range(30):
        add(pid, tid, 1000 + i * 300, 1000 + i * 300 + random.randrange(50, 290), 0)
for i in range(20):
    for phase, ts in [("b", 2000 + i * 10), ("e", 3000 + i * 17)]:
        events.append({"ph": phase, "cat": "net", "id": hex(i), "name": f"load {i % 3}", "pid": 1,
                       "tid": 1, "ts": ts})
for i in range(40):
    events.append({"ph": "C", "name": "heap", "pid": 1, "ts": 1000 + i * 7, "args": {"bytes": i * i}})
random.shuffle(events)
for pid, name in [(1, "browser"), (5, "renderer")]:
    events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
print(json.dumps({"traceEvents": events}))
PYTHON

"$STACKWIDE" convert "$TMPDIR/a.json" -o "$TMPDIR/a.pftrace" || fail "the trace could not be read"

ask() {
    node "$REPO/tests/perfetto/query.mjs" "$TRACE_PROCESSOR" "$1" \
        "select name, ts - (select min(ts) from slice), dur, depth from slice order by 2, 4, 1, 3" \
        "select t.name, ts - (select min(ts) from slice), cast(value as int)
            from counter join counter_track t on t.id = track_id where t.name like 'heap%'
            order by 2, 3" \
        "select count(distinct track_id) from slice"
}
ask "$TMPDIR/a.json" >"$TMPDIR/expected_rows" || fail "the trace processor refuses the JSON"
ask "$TMPDIR/a.pftrace" >"$TMPDIR/rows" || fail "the trace processor refuses the trace"
(($(wc -l <"$TMPDIR/expected_rows") > 300)) || fail "there are hardly any rows"
diff "$TMPDIR/expected_rows" "$TMPDIR/rows" >"$TMPDIR/difference" || {
    head -20 "$TMPDIR/difference"
    fail "the trace processor finds other things (>) in what was made of the JSON"
}
