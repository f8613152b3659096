#!/bin/bash
# --alloc: allocated bytes by who allocates them; each once, whichever function is called; of a sample of them the shares
# and the sum, within what chance allows.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/allocations
if ! "$STACKWIDE" record --alloc -c 1 -o "$TMPDIR/first.folded" -- "$load" 1 2>"$TMPDIR/err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "record --alloc: $(cat "$TMPDIR/err")"
fi

# expect_each FOLDED ROUNDS [FIRST]: what each function was asked for, and nothing twice; at who has called it, but for those
# of the begin, when the unwind tables are not there yet. FIRST: of one round, with which it is compared where libc itself
# allocates when the program starts.
expect_each() {
    python3 -S - "$@" <<'PYTHON' || fail "the bytes of $1: $(cat "$1")"
import re, sys
asked = {"malloc": 1000 + 1700 + (1 << 20), "calloc": 1100, "realloc": 1200 + 1300 + 1700, "posix_memalign": 1400, "memalign": 1536 + 1600}
called = {"by_malloc": 1000, "by_large_malloc": 1 << 20, "by_calloc": 1100, "by_first_realloc": 1200, "by_realloc": 1300,
          "by_posix_memalign": 1400, "by_aligned_alloc": 1536, "by_memalign": 1600, "by_wrapper": 1700}
def read(folded, is_all):
    functions, callers = dict.fromkeys(asked, 0), dict.fromkeys(called, 0)
    for line in open(folded):
        stack, _, count = line.rpartition(" ")
        frames = [frame for frame in stack.split(";") if frame != "grow"]
        if not frames[0].startswith("allocations"):
            continue
        function = re.sub("^_*(libc_)?", "", frames[-1]).replace("aligned_alloc", "memalign")
        functions[function] += int(count)
        if frames[-2] in callers:
            assert function in ("malloc, realloc" if frames[-2] == "by_wrapper" else
                                "memalign" if "align" in frames[-2] and "posix" not in frames[-2] else frames[-2]), line
            callers[frames[-2]] += int(count)
        else:
            assert "[truncated]" in frames or not is_all, line
    return functions, callers
functions, callers = read(sys.argv[1], len(sys.argv) == 3)
rounds = int(sys.argv[2])
if len(sys.argv) > 3:
    for name, count in read(sys.argv[3], False)[0].items():
        functions[name] -= count - asked[name]
for name in asked:
    print(f"{name}: {functions[name]} bytes, expected {rounds * asked[name]}")
    assert functions[name] == rounds * asked[name]
for name in called:
    assert callers[name] <= rounds * called[name] * (2 if name == "by_wrapper" else 1) and callers[name] % called[name] == 0, name
PYTHON
}

# Each of them. All fit into the ring at once, so that none is lost.
record --alloc -c 1 --buffer-size 64M -o "$TMPDIR/each.folded" --stats "$TMPDIR/each.json" -- "$load" each 1000
expect_account_adds_up "$TMPDIR/each.json"
[[ $(stats_get "$TMPDIR/each.json" lost) = 0 ]] || fail "samples are lost: $(cat "$TMPDIR/each.json")"
expect_each "$TMPDIR/each.folded" 1000
record -a --alloc -c 1 --buffer-size 64M -o "$TMPDIR/all.folded" --stats "$TMPDIR/all.json" -- "$load" each 100
expect_account_adds_up "$TMPDIR/all.json"
[[ $(stats_get "$TMPDIR/all.json" lost) != 0 ]] || expect_each "$TMPDIR/all.folded" 100

# One link holds all places of a file, where the kernel has such, and so ends them all at once: there are no more perf events
# than where one function is probed.
# What another process holds for the recorder counts as well.
holders() { printf '/proc/%s\n' "$RECORDER" $(cat "/proc/$RECORDER/task/$RECORDER/children"); }
count_held() { find $(holders | sed 's,$,/fd,') -lname "$1" 2>/dev/null | grep -c . || true; }
if grep -qaw BPF_TRACE_UPROBE_MULTI /sys/kernel/btf/vmlinux; then
    start_recording -a -e uprobe:libc:malloc -c 1000000 -o "$TMPDIR/held.folded"
    events=$(count_held '*perf_event*')
    stop_recording
    for way in --alloc --live; do
        start_recording -a "$way" -o "$TMPDIR/held.folded"
        events_of_all=$(count_held '*perf_event*')
        links=$(find $(holders | sed 's,$,/fdinfo,') -type f -exec cat {} + 2>/dev/null | grep -c '^link_type:[[:space:]]*uprobe_multi$' || true)
        stop_recording
        echo "$way: $events_of_all perf events, $links links to files"
        [[ $events_of_all = "$events" && $links -ge 1 ]] || fail "$way: expected $events perf events, and links"
    done
else
    echo "this kernel has no links of many probes: each is a perf event of its own"
fi

# A program that has its allocator in itself, and runs already.
if [[ -x ${load}_static ]]; then
    record --alloc -c 1 -o "$TMPDIR/one.folded" -- "${load}_static" each 1
    record --alloc -c 1 --buffer-size 64M -o "$TMPDIR/static.folded" -- "${load}_static" each 1000
    expect_each "$TMPDIR/static.folded" 1000 "$TMPDIR/one.folded"
    mkfifo "$TMPDIR/go"
    exec 3<>"$TMPDIR/go"
    # shellcheck disable=SC2016 # the inner shell's
    start bash -c 'exec "$1" each 1000 wait <"$2"' - "${load}_static" "$TMPDIR/go" 3>&-
    running=$PID
    wait_until runs_program "$running" allocations_sta
    start_recording -p "$running" --alloc -c 1 --buffer-size 64M -o "$TMPDIR/running.folded" 3>&-
    echo >&3
    wait "$running"
    wait "$RECORDER" || fail "record ended with status $?"
    exec 3>&-
    expect_each "$TMPDIR/running.folded" 1000
else
    echo "no static libc here: programs that have their allocator in themselves were not seen"
fi

# A file of which containers have copies by their own numbers: each call hits the probes of all of them.
# shellcheck disable=SC2016 # the inner shell's
run_in_layers='mount -t overlay none -o "lowerdir=$1:$2" "$3" && exec "$3/allocations_static" each 100 wait <"$4"'
mkdir "$TMPDIR/image" "$TMPDIR/empty" "$TMPDIR/merged"
if [[ -x ${load}_static ]] && cp "${load}_static" "$TMPDIR/image" &&
    unshare -m mount -t overlay none -o "lowerdir=$TMPDIR/image:$TMPDIR/empty" "$TMPDIR/merged"; then
    mkfifo "$TMPDIR/go_too"
    exec 3<>"$TMPDIR/go_too"
    pids=()
    for _ in 1 2; do
        start unshare -m bash -c "$run_in_layers" - "$TMPDIR/image" "$TMPDIR/empty" "$TMPDIR/merged" "$TMPDIR/go_too" 3>&-
        pids+=("$PID")
        wait_until runs_program "$PID" allocations_sta
    done
    start_recording -p "${pids[0]},${pids[1]}" --alloc -c 1 --buffer-size 64M -o "$TMPDIR/layers.folded" 3>&-
    echo >&3
    echo >&3
    wait "${pids[@]}"
    wait "$RECORDER" || fail "record ended with status $?"
    exec 3>&-
    expect_each "$TMPDIR/layers.folded" 200
else
    echo "no layers (overlay) can be mounted here: copies of a file in containers were not seen"
fi

# A sample of them. The number of samples is one of a Poisson process: its deviation is its root. Of so many, the share of
# a place that has the part p deviates by the root of p (1 - p) / number. Five of these are passed once in two million runs.
# expect_shares FOLDED STATS MEAN ROUNDS
expect_shares() {
    python3 -S - "$@" <<'PYTHON' || fail "the shares of $1: $(cat "$1" "$2")"
import json, math, sys
folded, stats, mean, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
event, = json.load(open(stats))["events"]
assert event["name"] == "alloc" and event["unit"] == "bytes"
assert event["fired"] == event["idle"] + event["filtered"] + event["weightless"] + event["below_period"] + event["samples"] + sum(event["lost"].values())
lost = sum(event["lost"].values()) * 2 * mean # a sample is of one point, seldom of two
parts = {"parse": 0.6, "index_words": 0.3, "log_line": 0.1}
sums = dict.fromkeys(parts, 0)
total = 0
for line in open(folded):
    stack, _, count = line.rpartition(" ")
    total += int(count)
    for name in sums: # those of the begin may have no callers: the unwind tables are not there yet
        if name in stack.split(";"):
            sums[name] += int(count)
expected = 10000 * rounds
error = 5 * math.sqrt(expected * mean)
print(f"{total} bytes, expected {expected} +- {error:.0f}, up to {lost} lost")
assert expected - error - lost <= total <= expected + error
named = sum(sums.values())
for name, part in parts.items():
    error = 5 * math.sqrt(part * (1 - part) * mean / named)
    print(f"{name}: {sums[name] / named:.4f}, expected {part} +- {error:.4f}")
    assert abs(sums[name] / named - part) <= error
PYTHON
}
record --alloc -o "$TMPDIR/some.folded" --stats "$TMPDIR/some.json" -- "$load" 20000
expect_account_adds_up "$TMPDIR/some.json"
expect_shares "$TMPDIR/some.folded" "$TMPDIR/some.json" 524288 20000
record --alloc -c 32768 --buffer-size 64M -o "$TMPDIR/more.folded" --stats "$TMPDIR/more.json" -- "$load" 20000
expect_shares "$TMPDIR/more.folded" "$TMPDIR/more.json" 32768 20000

# With others, as a metric.
record --alloc -e cpu-clock -o "$TMPDIR/both.pb.gz" -- "$load" 20000
"$STACKWIDE" report "$TMPDIR/both.pb.gz" --metric alloc >"$TMPDIR/report" || fail "the report has no metric alloc"
grep -q 'parse' "$TMPDIR/report" || fail "who allocates most is not in the report: $(cat "$TMPDIR/report")"
