#!/bin/bash
# Waits in a trace: each sample of one, and of who ended it, with its time, stack and weight, as samples of a metric of
# its own; and as a slice of its thread that shows its stack, from when to when the scheduler says that it was, with a
# flow from who ended it. A trace that is read again has what the profile beside it has.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

METRICS=(blocked uninterruptible run-queue preempted)

record --off-cpu --wakers --sched --period 1ms --buffer-size 64M -o "$TMPDIR/waits.pftrace" -o "$TMPDIR/waits.pb.gz" \
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

# The slices of threads' waits, with who waits and the stack; and by slice its frames.
WAITS="(select slice.*, utid, callsite_id, extract_arg(arg_set_id, 'debug.weight_ns') as weight,
        extract_arg(arg_set_id, 'debug.reason') as reason
    from slice join thread_track t on t.id = slice.track_id and t.name = 'sampled waits'
    left join __intrinsic_track_event_callstacks c on c.slice_id = slice.id)"
FRAMES="(with recursive level(slice, callsite) as (select slice_id, callsite_id from __intrinsic_track_event_callstacks
    where callsite_id is not null union all select slice, parent_id from level join stack_profile_callsite c on c.id = level.callsite
        where parent_id is not null)
    select distinct slice, f.name from level join stack_profile_callsite c on c.id = level.callsite
        join stack_profile_frame f on f.id = c.frame_id)"
expect_rows "select f.name, count(*) > 1, sum(reason like 'schedule%' or reason is null)
    from $WAITS w join $FRAMES f on f.slice = w.id where w.name = 'blocked' and f.name in ('wait_condition',
        'wait_epoll', 'wait_futex', 'wait_lock', 'wait_pipe', 'wait_sleep') group by 1 order by 1" <<'END'
wait_condition|1|0
wait_epoll|1|0
wait_futex|1|0
wait_lock|1|0
wait_pipe|1|0
wait_sleep|1|0
END
expect_rows "select count(*) > 1, sum(reason not glob '*pipe_read*') from $WAITS w join $FRAMES f on f.slice = w.id
    where w.name = 'blocked' and f.name = 'wait_pipe'" <<<'1|0'
# They do not nest, and weigh what the samples do, but for those of processes that are too short to be shown.
expect_rows "select max(depth), min(dur) >= 0 from $WAITS" <<<'0|1'
for metric in blocked uninterruptible preempted; do
    sampled=$(stats_get "$TMPDIR/stats.json" "off_cpu.sampled_ns.$metric")
    "$STACKWIDE" convert -q "$TMPDIR/waits.pb.gz" --metric "$metric" -o "$TMPDIR/$metric.folded" # in µs
    children=$((1000 * $(folded_count "$TMPDIR/$metric.folded" run_child)))
    expect_rows "select sum(weight) between 0.98 * $sampled - $children and $sampled from $WAITS where name = '$metric'" <<<1
done
# The scheduler's row of the thread has the same interval: asleep until it was woken, and then runnable until it ran.
# A switch that the kernel did not report concerns two threads.
hidden=$((2 * $(stats_get "$TMPDIR/stats.json" sched.lost)))
expect_rows "select count(*) > 50, sum(is_there) > 0.95 * count(*) - $hidden from (select exists (select 1 from thread_state s
        where s.utid = w.utid and s.state in ('S', 'I', 'D') and abs(s.ts - w.ts) < 50000
            and abs(s.ts + s.dur - w.ts - w.dur) < 50000) as is_there
    from $WAITS w where name in ('blocked', 'uninterruptible'))" <<<'1|1'
expect_rows "select count(*) > 50, sum(is_there) > 0.95 * count(*) - $hidden from (select exists (select 1 from thread_state s
        where s.utid = w.utid and s.state in ('R', 'R+') and abs(s.ts - w.ts) < 50000
            and abs(s.ts + s.dur - w.ts - w.dur) < 50000) as is_there
    from $WAITS w where name = 'run queue')" <<<'1|1'
# Who woke them, with its own stack: on its own track, from where a flow leads to the run queue. An interrupt has none.
WOKEN="$WAITS w join $FRAMES f on f.slice = w.id join flow on slice_in = w.id join slice o on o.id = slice_out
    join thread_track t on t.id = o.track_id"
expect_rows "select f.name, count(*) > 1, sum(o.ts = w.ts and o.name glob 'wakes nofp_waits *' and t.utid != w.utid
        and o.id in (select slice from $FRAMES where name = 'wake_others')) > 0.95 * count(*)
    from $WOKEN where w.name = 'run queue' and f.name in ('wait_condition', 'wait_epoll', 'wait_pipe')
    group by 1 order by 1" <<'END'
wait_condition|1|1
wait_epoll|1|1
wait_pipe|1|1
END
expect_rows "select count(*) > 1, sum(t.utid = w.utid and extract_arg(o.arg_set_id, 'debug.waker') = '[interrupt]')
        > 0.9 * count(*) from $WOKEN where w.name = 'run queue' and f.name = 'wait_sleep'" <<<'1|1'
# Processes that are too short for a track of their own have none: a child has a wait or two.
stats_get "$TMPDIR/stats.json" off_cpu.wakers.known processes.forks >"$TMPDIR/values"
{ read -r known && read -r forks; } <"$TMPDIR/values"
expect_rows "select count(*) between 0.95 * $known - 2 * $forks and $known from flow" <<<1
check_trace "$TMPDIR/waits.pftrace"

for metric in "${METRICS[@]}" offwake cpu wall; do
    for file in waits.pftrace waits.pb.gz; do
        "$STACKWIDE" report "$TMPDIR/$file" --json --metric "$metric" --callees run_waiter 2>/dev/null |
            grep -E '^  "(total|inclusive)"|"name": "wait_' | head -20 >"$TMPDIR/$file.rows" ||
            fail "no $metric in $file"
    done
    diff -u "$TMPDIR/waits.pb.gz.rows" "$TMPDIR/waits.pftrace.rows" || fail "$metric of the trace differs"
done
