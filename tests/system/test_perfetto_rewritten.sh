#!/bin/bash
# A recording with scheduling, waits, zones, fibers and several processes, read and written again, is the same
# in every table of Perfetto's own trace processor; so it is compressed, and written twice.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor
cd "$TMPDIR"

record -F 999 --sched --off-cpu --wakers --zones zones -o a.pftrace -- sh -c '
    STACKWIDE_ZONES=zones "$0" 4 30 2000; for i in 1 2 3; do sleep 0.01; /bin/true; done; "$1" 0.2' \
    "$(dirname "$WORKLOADS")/programs/zones_fibers" "$WORKLOADS/burn"
expect_status 0 "$STACKWIDE" convert a.pftrace -o b.pftrace
[[ ! -s err ]] || fail "rewriting it says: $(cat err)"
expect_status 0 "$STACKWIDE" convert a.pftrace --compress -o c.pftrace
expect_status 0 "$STACKWIDE" convert c.pftrace -o d.pftrace
cmp b.pftrace d.pftrace || fail "what was compressed is not the same"

# Ids are the trace processor's own; the arguments of a set are a line.
ARGS="(select group_concat(k, ' ') from (select flat_key || '=' || ifnull(display_value, '') as k
    from args a where a.arg_set_id = t.arg_set_id
    and flat_key not in ('trace_id', 'parent_track_uuid', 'uuid') order by 1))"
# stacks_of ID TABLE: by sample, or slice, its frames, outermost last, with what is known of each.
stacks_of() {
    echo "(with recursive level(sample, n, callsite) as (select $1, 0, callsite_id from $2 where callsite_id is not null
            union all select sample, n + 1, parent_id from level join stack_profile_callsite c
                on c.id = level.callsite where parent_id is not null)
        select sample, group_concat(text, ';') as stack from (select sample, f.name || '+' || rel_pc || '@' || m.name
                || m.build_id || ifnull((select group_concat(s.name || s.source_file || s.line_number)
                    from stack_profile_symbol s where s.symbol_set_id = f.symbol_set_id), '') as text
            from level join stack_profile_callsite c on c.id = level.callsite
                join stack_profile_frame f on f.id = c.frame_id
                join stack_profile_mapping m on m.id = f.mapping order by sample, n) group by sample)"
}
queries=(
    "select ts, dur, cpu, end_state, priority, tid, th.name from sched t left join thread th using(utid) order by 1, 3"
    "select ts, dur, cpu, state, irq_context, tid, th.name, (select tid from thread w where w.utid = t.waker_utid)
        from thread_state t left join thread th using(utid) order by 1, 6, 2, 4"
    "select ts, dur, depth, category, t.name, tr.name, (select name from track p where p.id = tr.parent_id), $ARGS
        from slice t join track tr on tr.id = t.track_id order by 1, 2, 3, 5, 6, 7, 8"
    "select o.ts, o.name, i.ts, i.name from flow t join slice o on o.id = slice_out join slice i on i.id = slice_in
        order by 1, 3, 2, 4"
    "select ts, value, tr.name, tr.unit, (select name from track p where p.id = tr.parent_id)
        from counter t join counter_track tr on tr.id = t.track_id order by 1, 3, 5, 2"
    "select t.name, t.type, (select name from track p where p.id = t.parent_id), count(*) from track t group by 1, 2, 3
        order by 1, 2, 3"
    "select pid, name, start_ts, end_ts, uid, cmdline, (select pid from process p where p.upid = t.parent_upid)
        from process t order by 1, 3, 2"
    "select tid, t.name, t.start_ts, t.end_ts, is_main_thread, pid from thread t left join process using(upid)
        order by 1, 3, 2"
    "select ts, cpu, cpu_mode, unwind_error, tid, stack from perf_sample t join thread using(utid)
        left join $(stacks_of id perf_sample) on sample = t.id order by 1, 5, 6"
    "select ts, t.name, stack from slice t join $(stacks_of slice_id __intrinsic_track_event_callstacks)
        on sample = t.id order by 1, 2, 3"
    "select name, int_value, str_value from metadata t where name not like 'trace_%' order by 1, 2, 3"
    "select snapshot_id, clock_id, clock_name, clock_value, ts from clock_snapshot t order by 1, 2"
    "select name, idx, severity, value from stats t where value != 0 and severity != 'info' order by 1, 2"
)
queries=("${queries[@]//$'\n'/ }") # of one line
for trace in a b c; do
    node "$REPO/tests/perfetto/query.mjs" "$TRACE_PROCESSOR" $trace.pftrace "${queries[@]}" >$trace.rows ||
        fail "the trace processor refuses $trace.pftrace"
done
wc -l a.rows
for trace in b c; do
    diff a.rows $trace.rows || fail "$trace.pftrace differs from what was recorded"
done
# That there is nothing would be the same, too.
for query in "${!queries[@]}"; do
    rows=$(awk -v wanted=$((query + 1)) '/^-- / { number++; next } number == wanted' a.rows | wc -l)
    echo "query $query: $rows rows"
    # Statistics are none where all is well.
    ((rows > 0)) || ((query == ${#queries[@]} - 1)) || fail "no rows of: ${queries[query]}"
done
