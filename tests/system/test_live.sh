#!/bin/bash
# --live: what was allocated and not freed by the end, each by who has allocated it and by its age; of a sample of it the
# sum, within what chance allows, and the leak first.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command setarch
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/allocations
if ! "$STACKWIDE" record --live -c 1 -o "$TMPDIR/first.folded" -- "$load" leak 1 2>"$TMPDIR/err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "record --live: $(cat "$TMPDIR/err")"
fi

# Of what the program has mapped: samples of before are walked later, and only so many of them.
has_tables() {
    local file
    for file in /allocations /libc.so /ld-linux; do
        grep -q "the unwind table of .*$file.* is ready" "$TMPDIR/record.err" || return 1
    done
}

# record_leak NAME ROUNDS OPTION…: of a program that runs already, so that its unwind tables are there when it begins
record_leak() { record_mode leak "$@"; }
record_mode() {
    local mode=$1 name=$2 rounds=$3 running
    shift 3
    mkfifo "$TMPDIR/go"
    exec 3<>"$TMPDIR/go"
    # shellcheck disable=SC2016 # the inner shell's
    start bash -c 'exec "$1" "$2" "$3" wait <"$4"' - "$load" "$mode" "$rounds" "$TMPDIR/go" 3>&-
    running=$PID
    wait_until runs_program "$running" allocations
    start_recording -p "$running" --live "$@" -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" 3>&-
    wait_until has_tables
    echo >&3
    wait "$running"
    end_recording
    exec 3>&-
    rm "$TMPDIR/go"
    expect_account_adds_up "$TMPDIR/$name.json"
}

# To the byte, what each place keeps.
record_leak live 1000 -c 1 --buffer-size 64M
[[ $(stats_get "$TMPDIR/live.json" lost) = 0 ]] || fail "samples are lost: $(cat "$TMPDIR/live.json")"
python3 -S - "$TMPDIR/live.folded" "$TMPDIR/live.json" 1000 <<'PYTHON' || fail "what is live: $(cat "$TMPDIR/live.folded" "$TMPDIR/live.json")"
import json, re, sys
rounds = int(sys.argv[3])
kept = {"leak": 2000 * rounds, "by_cache": 64 * 1000, "by_growth": 64 * rounds, "by_aligned_cache": 1400}
found = dict.fromkeys(kept, 0)
for line in open(sys.argv[1]):
    stack, _, count = line.rpartition(" ")
    frames = stack.split(";")
    assert re.fullmatch(r"\[age (below 1 s|1 to 10 s|10 to 60 s|1 to 10 min)\]", frames[-1]), line
    found[frames[-3]] += int(count)
print(f"{found}, expected {kept}")
assert found == kept
event, = json.load(open(sys.argv[2]))["events"]
assert event["name"] == "alloc-live" and event["weight"] == sum(kept.values())
assert event["live"] == rounds + 64 + 2 and event["samples"] == 16 * rounds
assert event["oldest_ns"] > 0
PYTHON
grep -q 'of them were not freed by the end, the oldest is' "$TMPDIR/record.err" || fail "the summary does not say what is live"

# A realloc() that fails frees nothing; one to no bytes does, where it returns none.
record_mode fail failed 1000 -c 1 --buffer-size 64M
[[ $(stats_get "$TMPDIR/failed.json" lost) = 0 ]] || fail "samples are lost: $(cat "$TMPDIR/failed.json")"
python3 -S - "$TMPDIR/failed.folded" 1000 <<'PYTHON' || fail "what is live after failures: $(cat "$TMPDIR/failed.folded")"
import sys
rounds = int(sys.argv[2])
kept = {"by_failure": 500 * rounds, "by_array": 300 * rounds}
found = {}
for line in open(sys.argv[1]):
    stack, _, count = line.rpartition(" ")
    caller, = [frame for frame in stack.split(";") if frame.startswith("by_")]
    found[caller] = found.get(caller, 0) + int(count)
print(f"{found}, expected {kept}")
sys.exit(found != kept)
PYTHON

# A child of vfork() has its parent's memory.
record_mode share shared 100 -c 1 --buffer-size 64M
[[ $(stats_get "$TMPDIR/shared.json" lost) = 0 ]] || fail "samples are lost: $(cat "$TMPDIR/shared.json")"
[[ $(stats_get "$TMPDIR/shared.json" events.0.samples) = 200 ]] || fail "not each call was sampled: $(cat "$TMPDIR/shared.json")"
[[ ! -s $TMPDIR/shared.folded ]] || fail "memory that another process freed is live: $(cat "$TMPDIR/shared.folded")"

# What one process frees says nothing of another one's memory at the same addresses.
record --live -c 1 --buffer-size 64M -o "$TMPDIR/two.folded" -- setarch -R sh -c "'$load' leak 100 & '$load' leak 1; '$load' 100; wait"
python3 -S - "$TMPDIR/two.folded" <<'PYTHON' || fail "what is live of three processes: $(cat "$TMPDIR/two.folded")"
import sys
total = 0
for line in open(sys.argv[1]):
    stack, _, count = line.rpartition(" ")
    if stack.split(";")[0].startswith("allocations"):
        total += int(count)
print(total)
sys.exit(total != 2000 * 101 + 65 * 1000 + 64 * 101 + 1400 * 2)
PYTHON

! is_brief || exit 0

# More than there is room for is counted. What has 2000 bytes is sampled for certain.
record_leak more 70000 -c 2000 --buffer-size 256M
[[ $(stats_get "$TMPDIR/more.json" lost.block) -gt 4000 ]] || fail "what found no room is not counted: $(cat "$TMPDIR/more.json")"

# A sample of it.
record_leak some 20000
python3 -S - "$TMPDIR/some.folded" "$TMPDIR/some.json" 20000 <<'PYTHON' || fail "what is live by samples: $(cat "$TMPDIR/some.folded" "$TMPDIR/some.json")"
import json, math, sys
mean, rounds = 524288, int(sys.argv[3])
by_place = {}
for line in open(sys.argv[1]):
    stack, _, count = line.rpartition(" ")
    place = stack.split(";")[-3]
    by_place[place] = by_place.get(place, 0) + int(count)
event, = json.load(open(sys.argv[2]))["events"]
total = sum(by_place.values())
expected = 2000 * rounds + 64 * 1000 + 64 * rounds + 1400 # the last of by_growth is sampled for certain
error = 5 * math.sqrt(expected * mean)
lost = sum(event["lost"].values()) * 2 * mean
print(f"{total} bytes, expected {expected} +- {error:.0f}, up to {lost} lost: {by_place}")
assert expected - error - lost <= total <= expected + error
assert max(by_place, key=by_place.get) == "leak"
PYTHON
