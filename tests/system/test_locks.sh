#!/bin/bash
# --locks: the waits for futexes and nothing else, as long as the program itself measures them, with who let go; in the
# account, all other waits are there.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ $(uname -m) = x86_64 ]] || skip "futexes are known on x86-64 only"

period_us=1000
record --locks --period "${period_us}us" --buffer-size 64M -o "$TMPDIR/locks.folded" -o "$TMPDIR/locks.offwake.folded" \
    -o "$TMPDIR/locks.pb.gz" --stats "$TMPDIR/stats.json" -- "$WORKLOADS/nofp_lock" 1 >"$TMPDIR/truth"
read -r address waited_ns <"$TMPDIR/truth"
file=$TMPDIR/locks.folded
cmp "$file" "$TMPDIR/locks.offwake.folded" || fail "a file with one metric has not who let go"
expect_account_adds_up "$TMPDIR/stats.json"
expect_off_cpu_adds_up "$TMPDIR/stats.json"

# The place is the lock's, and the weight what the program has measured: off the CPU, blocked and then in a run queue.
# Per place a period may be wanting or too much.
"$STACKWIDE" convert --metric wall "$TMPDIR/locks.pb.gz" -o "$TMPDIR/wall.folded"
sampled_us=$(folded_match "$TMPDIR/wall.folded" ';take_lock;.*;\[(blocked|run queue)\](;| )')
echo "waited for the lock: $((waited_ns / 1000)) us, sampled: $sampled_us us"
((waited_ns > 0)) || fail "the program has not waited for its lock"
# What a sample takes is CPU time of who resumes, and waiting in its run queue for us, and the thread may be preempted: in
# guests that is much.
least=98
most=102
if ((${LOAD_DIVISOR:-1} > 1)); then
    least=80
    most=200
fi
expect_between "sampled waits for the lock in us" "$sampled_us" \
    $((waited_ns / 1000 * least / 100 - 3 * period_us)) $((waited_ns / 1000 * most / 100 + 3 * period_us))
released=$(folded_match "$file" ";take_lock;.*;\[blocked\];\[futex $address\];--;.*;flush_log;.*;worker-3 [0-9]+\$")
expect_between "waits for the lock that flush_log has released, in percent" \
    $((100 * released / $(folded_match "$file" ';take_lock;'))) 95 100

# Nothing else: the end of a thread is awaited by a futex, too. What the worker sleeps is counted only.
# Where libc has no names, it is by who ends it.
wanted=';(take_lock|flush_log|[^;]*pthread_[^;]*join[^;]*);.*;\[blocked\];\[futex 0x[0-9a-f]+\];--;|;\[futex 0x[0-9a-f]+\];--;.*;[^;]*mm_release[^;]*_\[k\];'
others=$(grep -vcE "$wanted" "$file") || true
((others == 0)) || fail "$others stacks wait for something else: $(grep -vE "$wanted" "$file")"
! grep -m 1 'nanosleep.*;\[' "$TMPDIR/wall.folded" || fail "who sleeps is in the file"
stats_get "$TMPDIR/stats.json" off_cpu.only_futexes off_cpu.other_waits off_cpu.other_waits_ns off_cpu.exact_ns.blocked \
    off_cpu.coverage_percent >"$TMPDIR/values"
{ read -r only && read -r others && read -r others_ns && read -r blocked_ns && read -r coverage; } <"$TMPDIR/values"
[[ $only = [Tt]rue ]] || fail "the account does not say that it is of futexes only: $only"
((others > 0 && others_ns > 0)) || fail "$others waits of $others_ns ns are for no futex: the worker sleeps"
((blocked_ns <= waited_ns + 500000000)) || fail "$blocked_ns ns blocked are not for futexes: $waited_ns ns are for the lock"
expect_near "sampled part of the waits for futexes" "$coverage" 100 2
grep -q "of the time waited for futexes" "$TMPDIR/record.err" || fail "the summary does not say of what"
grep -q "skipped, in $others waits for anything but a futex" "$TMPDIR/record.err" || fail "the summary does not say what is left out"

# Who let go, and of what.
"$STACKWIDE" report "$TMPDIR/locks.pb.gz" --critical take_lock >"$TMPDIR/report"
for word in flush_log "[futex $address]" worker-3; do
    grep -qF -- "$word" "$TMPDIR/report" || fail "no $word in: $(cat "$TMPDIR/report")"
done

# A target that is there already sleeps when the recording begins: what for, is known then, too.
start "$WORKLOADS/nofp_waits" 60 >/dev/null
waiter=$PID
record --locks -p "$waiter" --period "${period_us}us" --buffer-size 64M --stats "$TMPDIR/process.json" -d 1 -o "$TMPDIR/process.folded"
kill "$waiter"
expect_off_cpu_adds_up "$TMPDIR/process.json"
expect_frame "$TMPDIR/process.folded" wait_condition
for other in wait_pipe wait_sleep wait_epoll; do
    ! grep -m 1 ";$other;.*\[blocked\]" "$TMPDIR/process.folded" || fail "$other is in a file of locks"
done

# A wait for several futexes is one for futexes, too. Their addresses are not known.
record --locks --period "${period_us}us" --buffer-size 64M -o "$TMPDIR/several.pb.gz" --stats "$TMPDIR/several.json" -- \
    "$WORKLOADS/nofp_waitv" 100 >"$TMPDIR/several.truth"
read -r waited_ns <"$TMPDIR/several.truth"
if [[ $waited_ns != none ]]; then
    expect_off_cpu_adds_up "$TMPDIR/several.json"
    "$STACKWIDE" convert --metric wall "$TMPDIR/several.pb.gz" -o "$TMPDIR/several.folded"
    sampled_us=$(folded_match "$TMPDIR/several.folded" ';wait_for_several;.*;\[(blocked|run queue)\](;| )')
    expect_between "sampled waits for several futexes in us" "$sampled_us" \
        $((waited_ns / 1000 * least / 100 - 3 * period_us)) $((waited_ns / 1000 * most / 100 + 3 * period_us))
fi

# Where nobody waits for a lock, or not as long, it is said.
record --locks -o "$TMPDIR/none.folded" -- sleep 0.1
grep -q 'no thread waited for a futex$' "$TMPDIR/record.err" || fail "nothing is said of no waits: $(cat "$TMPDIR/record.err")"
record --locks --min-block 1m -o "$TMPDIR/short.folded" -- "$WORKLOADS/nofp_lock" 0.1 >/dev/null
grep -q 'no thread waited for a futex that long$' "$TMPDIR/record.err" || fail "nothing is said of short waits: $(cat "$TMPDIR/record.err")"
