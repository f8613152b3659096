#!/bin/bash
# Waits in a trace: each sample of one, and of who ended it, with its time, stack and weight, as samples of a metric of
# its own; a trace that is read again has what the profile beside it has.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

METRICS=(blocked uninterruptible run-queue preempted)

record --off-cpu --wakers --period 1ms --buffer-size 64M -o "$TMPDIR/waits.pftrace" -o "$TMPDIR/waits.pb.gz" \
    --stats "$TMPDIR/stats.json" -- "$WORKLOADS/nofp_waits" 1 >/dev/null
expect_off_cpu_adds_up "$TMPDIR/stats.json"

for metric in "${METRICS[@]}"; do
    sampled=$(stats_get "$TMPDIR/stats.json" "off_cpu.sampled_ns.$metric")
    ((sampled > 0)) || fail "nothing is $metric"
    expect_rows "select cast(sum(value) as int) from counter join counter_track t on t.id = track_id
        where t.name = '$metric'" <<<"$sampled"
done
# What a thread waited lies behind: no sample is of a moment when nothing was recorded yet, or of none.
expect_rows "select sum(ts = 0), count(*) > 500 from perf_sample" <<'END'
0|1
END
check_trace "$TMPDIR/waits.pftrace"

for metric in "${METRICS[@]}" offwake; do
    for file in waits.pftrace waits.pb.gz; do
        "$STACKWIDE" report "$TMPDIR/$file" --json --metric "$metric" --callees run_waiter 2>/dev/null |
            grep -E '^  "(total|inclusive)"|"name": "wait_' | head -20 >"$TMPDIR/$file.rows"
    done
    [[ -s $TMPDIR/waits.pb.gz.rows ]] || fail "no $metric in the profile"
    diff -u "$TMPDIR/waits.pb.gz.rows" "$TMPDIR/waits.pftrace.rows" || fail "$metric of the trace differs"
done
