#!/bin/bash
# --off-cpu: a new thread waits for its first CPU. It has no stack yet, and the time is that which the kernel tells.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

period_us=100
status=0
"$WORKLOADS/nofp_started" 1 >/dev/null || status=$?
((status != 77)) || skip "no thread may be a real-time one here"
record --off-cpu --period "${period_us}us" --buffer-size 64M -o "$TMPDIR/started.folded" --stats "$TMPDIR/stats.json" -- \
    "$WORKLOADS/nofp_started" 100 >"$TMPDIR/truth"
expect_account_adds_up "$TMPDIR/stats.json"
expect_off_cpu_adds_up "$TMPDIR/stats.json"
read -r least_ns most_ns threads <"$TMPDIR/truth"
((least_ns >= threads * 2000000)) || fail "too few threads know how long they waited at first: $least_ns ns"

# Of each thread chance decides about a period: five times the spread of that. The kernel's clock and ours may
# differ by some microseconds a thread, and by one percent where the machine is a virtual one.
weight_us=$(folded_match "$TMPDIR/started.folded" '^[^;]+;\[run queue\] [0-9]+$')
margin=$((most_ns / 100000 + threads * 20 + 25 * period_us))
echo "$threads new threads waited $((least_ns / 1000)) to $((most_ns / 1000)) us, and have $weight_us us"
expect_between "weight of the first waits in us" "$weight_us" \
    $((least_ns / 1000 - margin)) $((most_ns / 1000 + margin))
# They are no waits whose begin was not seen, of which the command itself has some.
stats_get "$TMPDIR/stats.json" off_cpu.unseen_begin off_cpu.user_stacks.truncated >"$TMPDIR/values"
{ read -r unseen_begin && read -r truncated; } <"$TMPDIR/values"
((unseen_begin < threads / 2)) || fail "$unseen_begin waits have no begin"
echo "$truncated user stacks are truncated"
