#!/bin/bash
# A target of which there is little to be seen is called what it is: a zombie, a kernel thread, or
# a process that waits all the time. A process whose first thread has ended looks like a zombie and
# is none.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

has_state() { grep -q "^State:[[:space:]]*$2" "/proc/$1/status"; }

# The child ends, and what was the shell does not ask for its status.
start bash -c 'sleep 0.5 & exec sleep 300'
parent=$PID
find_child() { child=$(pgrep -P "$parent"); }
wait_until find_child
wait_until has_state "$child" Z
for option in -p -t; do
    expect_status 1 "$STACKWIDE" record "$option" "$child" -d 1 -o "$TMPDIR/out.folded"
    [[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "more than one line: $(cat "$TMPDIR/err")"
    grep -Eq "(process|thread) $child \(.*\) is a zombie: .* process $parent," "$TMPDIR/err" ||
        fail "does not call $child a zombie of $parent: $(cat "$TMPDIR/err")"
    [[ ! -e $TMPDIR/out.folded ]] || fail "wrote an output"
done

# Of several processes, those that live need no hint.
record -d 0.3 -p "$parent" -o "$TMPDIR/idle.folded"
grep -Eq "process $parent \(sleep\) did not run at any tick in 0\.[0-9] s: it is waiting \(in [a-z_]+\)" \
    "$TMPDIR/record.err" || fail "does not say that sleep waits: $(cat "$TMPDIR/record.err")"
kill -STOP "$parent"
record -d 0.3 -p "$parent" -o "$TMPDIR/idle.folded"
grep -Eq "process $parent \(sleep\) .*: it is stopped" "$TMPDIR/record.err" ||
    fail "does not say that sleep is stopped: $(cat "$TMPDIR/record.err")"

kernel_thread=$(pgrep -o -P 2 ksoftirqd) || kernel_thread=
if [[ $kernel_thread ]]; then
    record -d 0.3 -p "$kernel_thread" -o "$TMPDIR/kernel.folded"
    grep -q "process $kernel_thread (ksoftirqd/0) is a kernel thread: it has only kernel stacks" \
        "$TMPDIR/record.err" || fail "does not say kernel thread: $(cat "$TMPDIR/record.err")"
fi

start "$WORKLOADS/first_thread_ends" 60
wait_until has_state "$PID" Z
record_cpu_time 300 "$PID" -F 999 -p "$PID" -o "$TMPDIR/second.folded"
expect_frame "$TMPDIR/second.folded" second_thread_burn 150
! grep -q warning "$TMPDIR/record.err" || fail "$(cat "$TMPDIR/record.err")"
