#!/bin/bash
# --flush writes one trace after another: each is whole by itself, begins where the one before ends,
# but for a moment that both have, and has all samples of its account.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

begin=$SECONDS
record -F 499 --flush 1s --sched --compress -o "$TMPDIR/x.pftrace" --stats "$TMPDIR/x.json" -- \
    bash -c '"$1" 600 2 & until [[ -e $2 ]]; do sleep 0.1; done; kill "$!"; exit 0' - \
    "$WORKLOADS/threads" "$TMPDIR/x.3.json"
count=$(find "$TMPDIR" -name 'x.*.pftrace' | wc -l)
expect_between "number of files" "$count" 2 $((SECONDS - begin + 1))
[[ ! -e $TMPDIR/x.pftrace ]] || fail "there is a trace without number"

end_ns=0
for ((i = 1; i <= count; i++)); do
    trace=$TMPDIR/x.$i.pftrace
    expect_account_adds_up "$TMPDIR/x.$i.json"
    QUERIES=()
    rm -f "$TMPDIR/expected_rows"
    # Two recordings sample at once for a moment: the next one begins before the last one is stopped.
    expect_rows "select count(*), sum(ts <= $end_ns) <= 20, count(*) = count(callsite_id)
        from perf_sample" <<END
$(stats_get "$TMPDIR/x.$i.json" samples)|1|1
END
    expect_rows "select sum(value != 0) from (select value, row_number() over
        (partition by track_id order by ts desc, counter.id desc) as age from counter
        join counter_track t on t.id = track_id where t.name = 'fill') where age = 1" <<'END'
0
END
    # Who has run for long is known in every file, and was on its stack.
    ((i == 1 || i == count)) || expect_rows "select distinct track from $SLICES
        where parent_track = 'Stacks' and track like 'worker-_' order by 1" <<'END'
worker-a
worker-b
END
    check_trace "$trace"
    end_ns=$(node "$REPO/tests/perfetto/query.mjs" "$TRACE_PROCESSOR" "$trace" \
        "select max(ts) from perf_sample" | tail -n 1)
done

expect_status 2 "$STACKWIDE" record --flush 1s -d 1 --zones x.zones -o "$TMPDIR/y.pftrace"
