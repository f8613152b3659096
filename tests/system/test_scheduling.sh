#!/bin/bash
# Scheduling in a trace: slices of a CPU do not overlap, threads that hand over are woken by each
# other, the CPU time of a thread is its own, and nothing is lost without a word.
# runs: in turn
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cpu_time.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

# check_handover TRACE: of one process, with the figures that it gave in $TMPDIR/figures.
check_handover() {
    local tid cpu_ns sleeps on_cpu_ns lost
    read -r tid cpu_ns sleeps on_cpu_ns <"$TMPDIR/figures"
    lost=$(stats_get "$TMPDIR/stats" sched.lost)
    echo "the burner had a CPU for $on_cpu_ns ns, and used $cpu_ns; $lost switches lost"
    QUERIES=()
    rm -f "$TMPDIR/expected_rows"
    expect_rows "select count(*) from (select cpu, ts, lag(ts + dur) over (partition by cpu order by ts)
        as before from sched) where ts < before" <<'END'
0
END
    # Its CPU time lacks what interrupts and the host take. The switch is charged to nobody, some microseconds of
    # each slice. The thread also starts and ends. Where the kernel hid that it came to a CPU, it is not known what
    # ran there until it was seen.
    expect_rows "select num_slices > 0, total + unknown > $cpu_ns * 0.97 and
            total < $on_cpu_ns * 1.02 + num_slices * 20000 + 20000000 + $lost * 1000000
        from (select sum(dur) as total, count(*) as num_slices
            from sched join thread using(utid) where tid = $tid),
        (select ifnull(sum(dur), 0) as unknown from sched join thread using(utid)
            where name = '[unknown]')" <<'END'
1|1
END
    expect_rows "select thread.name, state from thread_state join thread using(utid)
        where thread.name in ('ping', 'pong') and state in ('Running', 'R', 'S', 'X')
        group by 1, 2 order by 1, 2" <<'END'
ping|R
ping|Running
ping|S
ping|X
pong|R
pong|Running
pong|S
pong|X
END
    # Ping is woken by pong alone; almost, as whoever starts or ends may have a hand in it.
    expect_rows "select count(*) > 0.9 * $sleeps - $lost, sum(w.name = 'pong') > 0.99 * count(*)
        from thread_state s join thread t using(utid) join thread w on w.utid = s.waker_utid
        where t.name = 'ping' and s.state = 'R'" <<'END'
1|1
END
    # The burner has no reason to sleep: it runs or would like to. Where the kernel hid that it left its CPU, it counts
    # as asleep until it is seen again.
    expect_rows "select sum(iif(state in ('Running', 'R', 'R+'), dur, 0)) > 0.9 * sum(dur)
        from thread_state join thread using(utid) where tid = $tid and dur > 0 and (state = 'Running' or ts not in (
            select ts from sched join thread using(utid) where name = '[unknown]'))" <<'END'
1
END
    expect_rows "select process.name from process join thread using(upid) where tid = $tid" <<'END'
handover
END
    check_trace "$1"
}

# count_sched KEY: from the last recording's account
count_sched() { sed -n "s/.*\"sched\": .*\"$1\": \([0-9]*\).*/\1/p" "$TMPDIR/stats"; }

record --sched -o "$TMPDIR/command.pftrace" --stats "$TMPDIR/stats" -- \
    "$WORKLOADS/handover" 1 "$TMPDIR/figures"
check_handover "$TMPDIR/command.pftrace"
[[ $(count_sched ring) = 0 ]] || fail "$(count_sched ring) events found the ring full"
QUERIES=()
rm -f "$TMPDIR/expected_rows"
expect_rows "select count(*) <= $(count_sched switches) + 2 * $(count_sched unseen) +
        (select count(distinct cpu) from sched)
    and count(*) >= $(count_sched switches) from sched" <<'END'
1
END
check_trace "$TMPDIR/command.pftrace"

record -a --sched -o "$TMPDIR/all.pftrace" --stats "$TMPDIR/stats" -- \
    "$WORKLOADS/handover" 1 "$TMPDIR/figures"
check_handover "$TMPDIR/all.pftrace"

# One process of two that are alike: nothing wakes the other one's threads.
start "$WORKLOADS/handover" 300 "$TMPDIR/wanted"
wanted=$PID
start "$WORKLOADS/handover" 300 "$TMPDIR/other"
other=$PID
wait_until has_thread "$wanted" burner
wait_until has_thread "$other" burner
ids() { find "/proc/$1/task" -mindepth 1 -maxdepth 1 -printf '%f,' | sed 's/,$//'; }
wanted_ids=$(ids "$wanted") other_ids=$(ids "$other") burner=$(find_thread "$wanted" burner)
start_recording --sched -o "$TMPDIR/one.pftrace" --stats "$TMPDIR/stats" -p "$wanted"
wait_for_cpu_time 300 "$wanted" "$burner"
stop_recording
QUERIES=()
rm -f "$TMPDIR/expected_rows"
expect_rows "select sum(tid in ($wanted_ids)) > 100, sum(tid in ($other_ids))
    from thread_state join thread using(utid) where waker_utid is not null" <<'END'
1|0
END
# What is not told looks idle: what runs is the process, came behind one of its threads, or is there since it woke one.
# Whatever else the machine does: of a recording of all of it, half of the slices have nothing to do with the process.
expect_rows "select sum(iif(tid = $burner, dur, 0)) > 5e7,
        sum(tid not in (0, $wanted_ids) and ifnull(before, 0) not in ($wanted_ids) and ts not in (select s.ts
            from thread_state s join thread using(utid) where tid in ($wanted_ids))) < 0.01 * count(*)
    from (select ts, dur, tid, lag(tid) over (partition by cpu order by ts) as before
        from sched join thread using(utid))" <<'END'
1|1
END
check_trace "$TMPDIR/one.pftrace"

# How often the threads of a process have gone to sleep.
count_switches() { cat "/proc/$1/task"/*/status | awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum }'; }

# A small ring that nobody reads during many switches: what is lost is counted, and the trace is sound.
start_recording -a --sched --buffer-size 4096 -o "$TMPDIR/lossy.pftrace" --stats "$TMPDIR/stats"
kill -STOP "$RECORDER"
before=$(count_switches "$wanted")
until (($(count_switches "$wanted") > before + 1000)); do
    sleep 0.05
done
kill -CONT "$RECORDER"
sleep 0.5
stop_recording
(($(count_sched ring) > 0)) || fail "a ring of one page has lost nothing"
QUERIES=()
rm -f "$TMPDIR/expected_rows"
expect_rows "select count(*) from (select cpu, ts, lag(ts + dur) over (partition by cpu order by ts)
    as before from sched) where ts < before" <<'END'
0
END
check_trace "$TMPDIR/lossy.pftrace"
