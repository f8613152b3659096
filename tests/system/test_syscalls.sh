#!/bin/bash
# --syscalls: each system call by its name, as many as the kernel's own tracepoint of one says, and for how long.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
"$STACKWIDE" events syscall-time >/dev/null 2>&1 || skip "this kernel has no tracepoints of system calls"

# sum_frame FOLDED FRAME: of the stacks that end in it
sum_frame() { folded_match "$1" ";\\[syscall $2\\] [0-9]+\$"; }

num_blocks=20000
record -e syscalls:sys_exit_read --syscalls -c 1 --buffer-size 64M --metric syscalls -o "$TMPDIR/calls.folded" \
    -o "$TMPDIR/calls.pb.gz" --stats "$TMPDIR/calls.json" -- dd if=/dev/zero of=/dev/null bs=500 count="$num_blocks" 2>/dev/null
expect_account_adds_up "$TMPDIR/calls.json"
reads=$(sum_frame "$TMPDIR/calls.folded" read)
writes=$(sum_frame "$TMPDIR/calls.folded" write)
python3 -S - "$TMPDIR/calls.json" "$reads" "$(folded_total "$TMPDIR/calls.folded")" <<'PYTHON' || fail "the account: $(cat "$TMPDIR/calls.json")"
import json, sys
stats = json.load(open(sys.argv[1]))
exits, calls, times = stats["events"]
print(f"{sys.argv[2]} reads, and the kernel's tracepoint counts {exits['weight']}; {times['weight'] / 1e6:.1f} ms in {calls['weight']} calls")
skipped = sum(event["lost"]["skipped"] for event in stats["events"])
assert abs(int(sys.argv[2]) - exits["weight"]) <= skipped
assert int(sys.argv[3]) == calls["weight"]
assert calls["unit"] == "count" and times["unit"] == "nanoseconds"
for event in stats["events"]:
    assert sum(event["lost"].values()) == event["lost"]["skipped"]
    assert event["fired"] == sum(event[name] for name in ("idle", "filtered", "unmatched", "weightless", "unseen_begin", "unfinished", "below_period", "samples")) + event["lost"]["skipped"]
# Of all calls but the last one, which ends the program, the time is known.
assert abs(times["samples"] + 1 - calls["samples"]) <= skipped and times["unseen_begin"] <= skipped
PYTHON
((writes >= num_blocks)) || fail "$writes writes of $num_blocks blocks"
elsewhere=$(grep -v ';\[syscall [a-z0-9_]*\] [0-9]*$' "$TMPDIR/calls.folded" || true)
[[ -z $elsewhere ]] || fail "a call without its name: $elsewhere"
"$STACKWIDE" report --json "$TMPDIR/calls.pb.gz" --metric syscall-time | grep -qF '"unit": "nanoseconds"' ||
    fail "times have no unit"

# Calls are counted when they are made: some return twice, elsewhere, never, or in another program.
record --syscalls -c 1 --buffer-size 64M -o "$TMPDIR/made.pb.gz" --stats "$TMPDIR/made.json" -- "$WORKLOADS/made_calls" >"$TMPDIR/made"
"$STACKWIDE" convert "$TMPDIR/made.pb.gz" --metric syscalls -o "$TMPDIR/made.folded"
"$STACKWIDE" convert "$TMPDIR/made.pb.gz" --metric syscall-time -o "$TMPDIR/made_time.folded"
[[ -s $TMPDIR/made ]] || fail "the program of unusual calls failed"
skipped=$(stats_get "$TMPDIR/made.json" events.0.lost.skipped)
while read -r name expected; do
    got=$(sum_frame "$TMPDIR/made.folded" "$name")
    ((got >= expected - skipped && got <= expected)) || fail "$got calls of $name, not $expected: $(grep "$name" "$TMPDIR/made.folded")"
done <"$TMPDIR/made"
nameless=$(grep -hv ';\[syscall [a-z0-9_]*\] [0-9]*$' "$TMPDIR/made.folded" "$TMPDIR/made_time.folded" || true)
[[ -z $nameless ]] || fail "a call without its name: $nameless"
python3 -S - "$TMPDIR/made.json" "$(sum_frame "$TMPDIR/made.folded" 'exit(_group)?')" <<'PYTHON' || fail "the account: $(cat "$TMPDIR/made.json")"
import json, sys
calls, times = json.load(open(sys.argv[1]))["events"]
ends, skipped = int(sys.argv[2]), calls["lost"]["skipped"] + times["lost"]["skipped"]
print(f"{calls['samples']} calls, {ends} of them do not return; the time of {times['samples']} is known, {times['unseen_begin']} unknown")
assert abs(calls["samples"] - ends - times["samples"]) <= skipped and times["unseen_begin"] <= skipped
PYTHON

# What waits in a call is in its time.
before_ns=$(date +%s%N)
record -e syscall-time -o "$TMPDIR/time.folded" --stats "$TMPDIR/time.json" -- sleep 0.3
after_ns=$(date +%s%N)
slept_ns=$(sum_frame "$TMPDIR/time.folded" '(clock_)?nanosleep')
expect_between "ns in nanosleep" "$slept_ns" 300000000 $((after_ns - before_ns))

# With periods that fit what comes, the sums are right.
record --syscalls --metric syscalls -o "$TMPDIR/some.folded" --stats "$TMPDIR/some.json" -- \
    dd if=/dev/zero of=/dev/null bs=500 count=1000000 2>/dev/null
python3 -S - "$TMPDIR/some.json" "$(sum_frame "$TMPDIR/some.folded" read)" <<'PYTHON' || fail "the account: $(cat "$TMPDIR/some.json")"
import json, sys
calls, times = json.load(open(sys.argv[1]))["events"]
print(f"{calls['samples']} samples stand for {calls['weight']} calls, {times['samples']} for {times['weight'] / 1e6:.1f} ms")
assert calls["weight"] + calls["rest"] == calls["fired"] - calls["idle"] - calls["filtered"]
assert 2000000 <= calls["weight"] + calls["rest"] <= 2001000
assert calls["samples"] < calls["weight"] / 4
# Reads and writes come by turns: each sample is of either by chance.
reads, deviation = int(sys.argv[2]), calls["weight"] / calls["samples"] ** 0.5 / 2
print(f"{reads} reads, half of all, by {(reads - calls['weight'] / 2) / deviation:+.1f} standard deviations")
assert abs(reads - calls["weight"] / 2) < 5 * deviation
PYTHON

# Those of a 32-bit program have other numbers.
if "$WORKLOADS/compat_fp" 2>/dev/null; then
    record --syscalls -c 1 --metric syscalls --buffer-size 64M -o "$TMPDIR/compat.folded" -- "$WORKLOADS/compat_fp"
    calls=$(folded_match "$TMPDIR/compat.folded" ';enters_kernel;\[syscall getpid\] [0-9]+$')
    ((calls == 20000)) || fail "$calls system calls of a 32-bit program, not 20000: $(cat "$TMPDIR/compat.folded")"
else
    echo "32-bit programs are not built or not run here: their system calls are not seen"
fi

# 64-bit code may make calls of the same table (int $0x80): the registers do not show which one it is.
if "$WORKLOADS/old_calls" 0 0 2>/dev/null; then
    record --syscalls -c 1 --buffer-size 64M -o "$TMPDIR/old.pb.gz" --stats "$TMPDIR/old.json" -- "$WORKLOADS/old_calls" 3000 1
    skipped=$(($(stats_get "$TMPDIR/old.json" events.0.lost.skipped) + $(stats_get "$TMPDIR/old.json" events.1.lost.skipped)))
    for metric in syscalls syscall-time; do
        "$STACKWIDE" convert "$TMPDIR/old.pb.gz" --metric "$metric" -o "$TMPDIR/old_$metric.folded"
        ! grep -E ';\[syscall (writev|capget)\]' "$TMPDIR/old_$metric.folded" || fail "calls of the 32-bit table have names of the other one"
    done
    expect_between "calls of getpid() by the 32-bit table" "$(sum_frame "$TMPDIR/old_syscalls.folded" getpid)" $((3000 - skipped)) 3000
    expect_between "calls of getppid() by the 64-bit table" "$(sum_frame "$TMPDIR/old_syscalls.folded" getppid)" $((1500 - skipped)) 1500
    ((skipped)) || expect_between "ns of nanosleep() by the 32-bit table" "$(sum_frame "$TMPDIR/old_syscall-time.folded" nanosleep)" \
        1000000000 "$(stats_get "$TMPDIR/old.json" duration_ns)"
else
    echo "64-bit programs cannot make calls of the 32-bit table here"
fi

expect_status 2 "$STACKWIDE" record -e syscall-time:u -o "$TMPDIR/x.folded"
grep -q "no event 'syscall-time:u'" "$TMPDIR/err" || fail "modifiers of system calls: $(cat "$TMPDIR/err")"
expect_status 2 "$STACKWIDE" record -e 'page-faults{bytes}' -o "$TMPDIR/x.folded"
grep -q 'expected the weight of each' "$TMPDIR/err" || fail "a weight that is no number: $(cat "$TMPDIR/err")"
expect_status 2 "$STACKWIDE" record -e 'cpu-clock{10}' -o "$TMPDIR/x.folded"
grep -q 'only tracepoints have fields' "$TMPDIR/err" || fail "a weight of time: $(cat "$TMPDIR/err")"

# Calls after pauses are no more than they are, although others came by thousands before them.
record --syscalls --metric syscalls -o "$TMPDIR/pauses.folded" --stats "$TMPDIR/pauses.json" -- python3 -S -c '
import os, time
for _ in range(20000):
    os.getppid()
for _ in range(50):
    time.sleep(0.01)
for _ in range(20000):
    os.getppid()'
expect_between "sleeps" "$(sum_frame "$TMPDIR/pauses.folded" '(clock_)?nanosleep')" 40 65
