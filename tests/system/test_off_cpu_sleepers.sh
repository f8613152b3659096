#!/bin/bash
# --off-cpu: threads that sleep from before the recording until after it are in the result, with whole stacks, as
# long as it lasts, and say that they slept throughout; and so are waits that had begun before it, or go on after it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# Whether all threads of a process sleep, and there are as many. all_sleep PID NUMBER
all_sleep() {
    [[ $(sed 's/.*) //' "/proc/$1"/task/*/stat | grep -c '^S ') = "$2" ]]
}

period_us=5000
start "$WORKLOADS/nofp_sleepers"
program=$PID
wait_until all_sleep "$program" 5

record -v --off-cpu --period "${period_us}us" -d 1 -p "$program" -o "$TMPDIR/sleepers.folded" \
    -o "$TMPDIR/sleepers.pb.gz" --stats "$TMPDIR/stats.json"
expect_account_adds_up "$TMPDIR/stats.json"
expect_off_cpu_adds_up "$TMPDIR/stats.json"
cat "$TMPDIR/sleepers.folded"
stats_get "$TMPDIR/stats.json" duration_ns off_cpu.unfinished off_cpu.lost off_cpu.user_stacks.truncated \
    off_cpu.unseen_begin off_cpu.exact_ns off_cpu.lived_ns off_cpu.cpu_ns off_cpu.unaccounted_ns >"$TMPDIR/values"
{ read -r duration_ns && read -r unfinished && read -r lost && read -r truncated && read -r unseen_begin &&
    read -r exact_ns && read -r lived_ns && read -r cpu_ns && read -r unaccounted_ns; } <"$TMPDIR/values"
((lost == 0)) || fail "$lost samples are lost"
# The napper may be awake at the begin, or at the end.
((unfinished >= 4 && unfinished <= 5)) || fail "$unfinished waits went on at the end, not 4 or 5"
((unseen_begin <= 1)) || fail "of $unseen_begin waits the begin was not seen, though all slept"
# The recorder's clock begins before that of waits, and ends after it, as long as the kernel takes to attach and detach.
expect_between "off-CPU time of five threads" "$exact_ns" $((5 * 900000000)) $((duration_ns * 5))
# All five have lived all the time, and the napper alone has run.
each_us=$((lived_ns / 5000))

if grep -q 'cannot see threads that sleep at the end' "$TMPDIR/record.err"; then
    fail "this kernel takes no program that looks at sleeping threads"
fi
if grep -q 'no user stacks of threads that sleep at the end' "$TMPDIR/record.err"; then
    echo "this kernel does not let the stack of a sleeping thread be copied"
    user='\[truncated\]'
    ((truncated > 0)) || fail "no user stack is truncated"
else
    user='.*;sleep_in_read;.*'
    # The napper may go on just when it is looked at: then nothing is known of its stack.
    ((truncated <= 1)) || fail "$truncated user stacks are truncated"
    if grep -F '[truncated]' "$TMPDIR/sleepers.folded" | has_line -v '^napper;\[truncated\];\[blocked\]'; then
        fail "another thread's stack is truncated"
    fi
    expect_frame "$TMPDIR/sleepers.folded" sleep_in_pause
fi
readers_us=$(folded_match "$TMPDIR/sleepers.folded" \
    "^reader;\[slept throughout\];$user.*read_\[k\];.*_\[k\];\[blocked\] [0-9]+\$")
expect_between "weight of three readers in us" "$readers_us" \
    $((3 * each_us - 3 * period_us)) $((3 * each_us + 3 * period_us))
# A wait that goes on at the end has the frames of one that has ended, down to the scheduler's.
if [[ $(grep -c ' __sched_text_end$' /proc/kallsyms) = 1 ]] && grep -q '^napper;.*hrtimer_nanosleep_\[k\]' "$TMPDIR/sleepers.folded"; then
    has_line '^napper;.*hrtimer_nanosleep_\[k\];\[blocked\]' <"$TMPDIR/sleepers.folded" &&
        fail "a sleeping thread's stack ends before do_nanosleep"
fi
# One that has run did not sleep throughout, and what it waited is in it from the begin to the end.
expect_no_frame "$TMPDIR/sleepers.folded" "napper;[slept throughout]"
# Its samples on a CPU are in the file as well.
napper_us=$(folded_match "$TMPDIR/sleepers.folded" '^napper;.*\[(blocked|run queue|preempted)\] [0-9]+$')
expect_between "weight of the napper in us" "$napper_us" \
    $((each_us - cpu_ns / 1000 - (unaccounted_ns > 0 ? unaccounted_ns : 0) / 1000 - 2 * period_us)) \
    $((each_us - cpu_ns / 1000 + 2 * period_us))
"$STACKWIDE" report -q "$TMPDIR/sleepers.pb.gz" | has_line '^4 threads slept throughout' || fail "the report does not count four"
grep -q '^  *4 threads slept throughout$' "$TMPDIR/record.err" || fail "the summary does not count four"

# A thread that ends while it is blocked has waited until then.
start_recording --off-cpu --period "${period_us}us" -p "$program" -o "$TMPDIR/killed.folded" --stats "$TMPDIR/killed.json"
sleep 0.5
kill -KILL "$program"
end_recording
expect_off_cpu_adds_up "$TMPDIR/killed.json"
stats_get "$TMPDIR/killed.json" off_cpu.unfinished off_cpu.exact_ns >"$TMPDIR/values"
{ read -r unfinished && read -r exact_ns; } <"$TMPDIR/values"
((unfinished == 0)) || fail "$unfinished threads of a process that is gone wait"
((exact_ns >= 5 * 400000000)) || fail "five threads have waited $exact_ns ns, of half a second each"
expect_no_frame "$TMPDIR/killed.folded" '[slept throughout]'
expect_frame "$TMPDIR/killed.folded" sleep_in_read

# Each part of a recording has them.
! is_brief || exit 0
start "$WORKLOADS/nofp_sleepers"
program=$PID
wait_until all_sleep "$program" 5
record --off-cpu --period "${period_us}us" --flush 500ms -d 1200ms -p "$program" -o "$TMPDIR/flush.folded" --stats "$TMPDIR/flush.json"
for number in 1 2; do
    expect_off_cpu_adds_up "$TMPDIR/flush.$number.json"
    expect_frame "$TMPDIR/flush.$number.folded" "reader;[slept throughout]"
done
