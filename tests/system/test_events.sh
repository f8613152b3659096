#!/bin/bash
# -e: what is counted is what perf counts, of every event that was asked for, at whole stacks; with periods that
# the kernel chooses the sums stay right; what there is not is said.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

num_pages=$(fewer 100000)
faults='main;touch_chunk;touch_pages'

# Every one of them. Beside touch_pages there are some of the program's start.
record -e page-faults -c 1 --buffer-size 64M -o "$TMPDIR/each.folded" --stats "$TMPDIR/each.json" -- \
    "$WORKLOADS/nofp_faults" "$num_pages" >"$TMPDIR/truth"
expect_account_adds_up "$TMPDIR/each.json"
# expect_place FOLDED PATH: what is sampled in the path's last function, which is left in `sampled`, is at that path, or
# says that it is truncated: its table may come later than so many samples.
expect_place() {
    local elsewhere
    sampled=$(folded_match "$1" ";${2##*;}(;[^;]*_\[k\])* [0-9]+\$")
    elsewhere=$(awk -v last="${2##*;}" -v path="$2" '
        match($0, ";" last "(;[^;]*_\\[k\\])* [0-9]+$") && !/;\[truncated\];/ && !match($0, ";" path "(;[^;]*_\\[k\\])* [0-9]+$")' "$1")
    [[ -z $elsewhere ]] || fail "not at $2: $elsewhere"
}
expect_place "$TMPDIR/each.folded" "$faults"
echo "$sampled page faults at their place, of $num_pages pages; the kernel counted $(cat "$TMPDIR/truth")"
((sampled == num_pages)) || fail "$sampled page faults of $num_pages pages"
[[ $(folded_total "$TMPDIR/each.folded") = "$(stats_get "$TMPDIR/each.json" samples)" ]] ||
    fail "the weights are not the number of samples"
[[ $(stats_get "$TMPDIR/each.json" lost) = 0 ]] || fail "samples were lost"

# As perf counts them, in the same run.
if command -v perf >/dev/null && perf stat -x, -e page-faults -o "$TMPDIR/perf.csv" -- true 2>/dev/null; then
    mkfifo "$TMPDIR/go"
    exec 3<>"$TMPDIR/go"
    # shellcheck disable=SC2016 # the inner shell's
    start bash -c 'exec "$1" 20000 go <"$2" >/dev/null 3>&-' - "$WORKLOADS/nofp_faults" "$TMPDIR/go"
    load=$PID
    wait_until runs_program "$load" nofp_faults
    start perf stat -x, -e page-faults,minor-faults -o "$TMPDIR/perf.csv" -p "$load" 3>&-
    counter=$PID
    start_recording -e page-faults,minor-faults -c 1 --buffer-size 64M -p "$load" -o "$TMPDIR/both.pb.gz" \
        --stats "$TMPDIR/both.json" 3>&-
    is_counting() { [[ $(readlink "/proc/$counter/fd/"*) = *perf_event* ]]; }
    wait_until is_counting
    echo >&3
    exec 3>&-
    wait "$load"
    wait "$counter"
    wait "$RECORDER" || fail "record ended with status $?"
    for event in page-faults minor-faults; do
        theirs=$(awk -F, -v event="$event" '$3 == event { print $1 }' "$TMPDIR/perf.csv")
        ours=$(python3 -S -c 'import json, sys
print(*(event["samples"] for event in json.load(open(sys.argv[1]))["events"] if event["name"] == sys.argv[2]))' "$TMPDIR/both.json" "$event")
        echo "$event: $ours, and perf counts $theirs"
        [[ $ours = "$theirs" ]] || fail "$ours $event were sampled, perf counts $theirs"
    done
else
    echo "perf is not to be had here: nothing to compare with"
fi

# The kernel's periods: few samples, and the right sum.
record -e page-faults,cpu-clock --metric page-faults -o "$TMPDIR/some.folded" -o "$TMPDIR/some.pb.gz" -o "$TMPDIR/some.pftrace" \
    --stats "$TMPDIR/some.json" -- "$WORKLOADS/nofp_faults" "$((num_pages * 4))" >"$TMPDIR/truth"
expect_account_adds_up "$TMPDIR/some.json"
expect_place "$TMPDIR/some.folded" "$faults"
# A file that has one of the metrics says which, one that has all says none.
for output in 'some.folded (folded of page-faults, ' 'some.pb.gz (pprof, ' 'some.pftrace (pftrace, '; do
    grep -qF -- "$output" "$TMPDIR/record.err" || fail "no '$output' in: $(cat "$TMPDIR/record.err")"
done
python3 -S - "$TMPDIR/some.json" "$(folded_total "$TMPDIR/some.folded")" <<'PYTHON' || fail "the events of the account: $(cat "$TMPDIR/some.json")"
import json, sys
stats = json.load(open(sys.argv[1]))
faults, clock = stats["events"]
print(f"{faults['samples']} samples stand for {faults['weight']} page faults, {clock['samples']} for {clock['weight'] / 1e9:.3f} s")
for event in stats["events"]:
    # What the kernel counts itself takes no turns: it needs no counter of the CPU.
    assert event["running_ns"] > 0 and event["running_ns"] == event["enabled_ns"]
    assert event["scaled_weight"] == event["weight"]
    assert event["fired"] == event["idle"] + event["filtered"] + event["unmatched"] + event["weightless"] + event["unseen_begin"] + event["unfinished"] + event["below_period"] + event["samples"] + sum(event["lost"].values())
assert faults["weight"] == int(sys.argv[2])
assert faults["weight"] + faults["rest"] == faults["fired"] - faults["filtered"] - faults["idle"]
assert faults["lost"]["skipped"] == 0 # page faults are no trace event
assert faults["samples"] < faults["weight"] / 4
assert clock["unit"] == "nanoseconds" and clock["weight"] > clock["samples"] * 1e6
assert sum(event["samples"] for event in stats["events"]) == stats["samples"]
PYTHON
expect_near "weight of the page faults at their place" "$sampled" $((num_pages * 4)) $((num_pages * 4 / 100))

# Each is a metric, in every format that has several.
"$STACKWIDE" report --json "$TMPDIR/some.pb.gz" >"$TMPDIR/pprof.json"
"$STACKWIDE" report --json "$TMPDIR/some.pftrace" >"$TMPDIR/trace.json"
for file in pprof trace; do
    python3 -S - "$TMPDIR/$file.json" "$TMPDIR/some.json" <<'PYTHON' || fail "metrics of $file: $(cat "$TMPDIR/$file.json")"
import json, sys
report, stats = (json.load(open(name)) for name in sys.argv[1:])
metrics = {metric["name"]: (metric["unit"], metric["total"]) for metric in report["metrics"]}
wanted = {event["name"]: (event["unit"], event["weight"]) for event in stats["events"]}
sys.exit(metrics != wanted)
PYTHON
done

# Tracepoints: each hit, so many, and as many as are wanted. What the program does is known.
num_calls=$(fewer 100003)
calls='main;call_often;call_kernel;syscall'
# sampled NAME COUNT CALLS
sampled() {
    record -e syscalls:sys_enter_getppid ${2:+-c "$2"} --buffer-size 64M -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- \
        "$WORKLOADS/nofp_calls" "$3"
    expect_account_adds_up "$TMPDIR/$1.json"
    weight=$(folded_match "$TMPDIR/$1.folded" ";syscall(;[^;]*_\[k\])* [0-9]+\$")
    expect_place "$TMPDIR/$1.folded" "$calls"
    samples=$(stats_get "$TMPDIR/$1.json" samples)
    echo "$1: $samples samples stand for $weight of $3 calls"
    python3 -S - "$TMPDIR/$1.json" "$3" <<'PYTHON' || fail "the account of the tracepoint: $(cat "$TMPDIR/$1.json")"
import json, sys
event, = json.load(open(sys.argv[1]))["events"]
parts = sum(event[name] for name in ("idle", "filtered", "unmatched", "weightless", "unseen_begin", "unfinished", "below_period", "samples")) + sum(event["lost"].values())
counted = event["weight"] + event["rest"]
# While a map is changed on a CPU, the kernel runs no program there, and counts what it has skipped.
skipped = event["lost"]["skipped"]
print(f"counted {counted}, {skipped} were skipped")
sys.exit(event["fired"] != parts or sum(event["lost"].values()) != skipped or not counted <= int(sys.argv[2]) <= counted + skipped)
PYTHON
}
if "$STACKWIDE" events syscalls:sys_enter_getppid >/dev/null 2>&1; then
    sampled each 1 "$num_calls"
    skipped=$(stats_get "$TMPDIR/each.json" lost)
    ((weight == samples && samples <= num_calls && samples + skipped >= num_calls)) || fail "$weight calls of $num_calls, in $samples samples"
    if ! is_brief; then
        sampled tenth 10 "$num_calls" # calls of a CPU without a sample are in no stack
        expect_between "calls, every tenth sampled" "$weight" $((num_calls - 14 * $(nproc) - $(stats_get "$TMPDIR/tenth.json" lost))) "$num_calls"
        # Each stands for 5 to 15; the last one of a CPU for the calls after it, too.
        expect_between "samples" "$samples" $((weight / 15 - 2 * $(nproc))) $((weight / 5))
    fi
    sampled some '' $((num_calls * 30))
    expect_between "calls, some sampled" "$weight" $((num_calls * 30 * 99 / 100)) $((num_calls * 30))
    ((samples < num_calls * 3)) || fail "$samples samples were taken of $((num_calls * 30)) calls"
    # What a field says: bytes that were read, and none where the call failed.
    counts=(1 4096 '')
    ! is_brief || counts=('')
    for count in "${counts[@]}"; do
        num_blocks=$(fewer $((${count:-0} ? 100000 : 2000000))) # what is left at the end of each CPU has no sample

        record -e 'syscalls:sys_exit_read{ret:By}' ${count:+-c "$count"} --buffer-size 64M -o "$TMPDIR/bytes.folded" -o "$TMPDIR/bytes.pb.gz" \
            --stats "$TMPDIR/bytes-stats.json" -- dd if=/dev/zero of=/dev/null bs=500 count="$num_blocks" 2>/dev/null
        # Frames are counted for each sample, whatever it weighs.
        frames=$(stats_get "$TMPDIR/bytes-stats.json" frames.total)
        samples=$(stats_get "$TMPDIR/bytes-stats.json" samples)
        expect_between "frames of $samples samples" "$frames" "$samples" $((samples * 100))
        bytes=$(folded_match "$TMPDIR/bytes.folded" '^dd;.* [0-9]+$')
        echo "by ${count:-what comes}: $bytes bytes were read of $((num_blocks * 500)) and those of the dynamic linker"
        expect_between "bytes that were read" "$bytes" $((num_blocks * 500 * 98 / 100)) $((num_blocks * 500 + 100000))
    done
    "$STACKWIDE" report --json "$TMPDIR/bytes.pb.gz" >"$TMPDIR/bytes.json"
    grep -qF '"metric": {"name": "syscalls:sys_exit_read{ret}", "unit": "bytes"}' "$TMPDIR/bytes.json" ||
        fail "the metric of bytes: $(head -c 300 "$TMPDIR/bytes.json")"
    # Of those that a filter wants.
    record -e syscalls:sys_enter_read --filter 'count == 500 && fd == 0 && COMM ~ "d?"' -e syscalls:sys_enter_openat \
        --filter 'filename.ustring ~ "/dev/ze*"' -c 1 --buffer-size 64M -o "$TMPDIR/filter.pb.gz" --stats "$TMPDIR/filter.json" \
        -- dd if=/dev/zero of=/dev/null bs=500 count=10000 2>/dev/null
    python3 -S - "$TMPDIR/filter.json" <<'PYTHON' || fail "the account of the filters: $(cat "$TMPDIR/filter.json")"
import json, sys
reads, opens = json.load(open(sys.argv[1]))["events"]
print(f"{reads['samples']} reads and {opens['samples']} files match, {reads['unmatched']} and {opens['unmatched']} do not")
sys.exit((reads["samples"], opens["samples"]) != (10000, 1) or not reads["unmatched"] or not opens["unmatched"])
PYTHON
else
    echo "the kernel has no tracepoints of system calls: nothing is called"
fi
# One of each, of several that a pattern matches, and of whoever it is.
has_tracefs=
! "$STACKWIDE" events sched:sched_process_exec >/dev/null 2>&1 || has_tracefs=1
if [[ -n $has_tracefs ]]; then
    record -a -e 'sched:sched_process_e*' -c 1 -o "$TMPDIR/exec.pb.gz" --stats "$TMPDIR/exec.json" -- bash -c '/bin/true; /bin/true; :'
    python3 -S - "$TMPDIR/exec.json" <<'PYTHON' || fail "execs and exits: $(cat "$TMPDIR/exec.json")"
import json, sys
events = {event["name"]: event["samples"] for event in json.load(open(sys.argv[1]))["events"]}
print(events)
sys.exit(not (set(events) >= {"sched:sched_process_exec", "sched:sched_process_exit"} and events["sched:sched_process_exec"] >= 3 and
              events["sched:sched_process_exit"] >= 2))
PYTHON
    if ! is_brief; then
        # What an interrupt does where nothing runs has happened, too.
        record -a -e irq:softirq_entry -c 1 -d 2 -o "$TMPDIR/softirq.folded" --stats "$TMPDIR/softirq.json"
        [[ $(stats_get "$TMPDIR/softirq.json" idle) = 0 ]] || fail "softirqs of idle CPUs are left out"
        expect_account_adds_up "$TMPDIR/softirq.json"
    fi
else
    echo "tracefs is not mounted: no tracepoints"
fi

# Where tracefs is mounted nowhere, a recording has a mount of its own; nobody else sees it, nor does it stay.
if ! is_brief && [[ -n $has_tracefs ]] && unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016 # for the other shell
    without_tracefs=(unshare -m bash -c 'mount -t tmpfs none /sys/kernel/tracing || exit
[[ ! -d /sys/kernel/debug ]] || mount -t tmpfs none /sys/kernel/debug || exit
exec "$@"' -)
    exec 8<"$STACKWIDE"
    "${without_tracefs[@]}" /proc/self/fd/8 events sched:sched_process_exec >"$TMPDIR/bare" ||
        fail "no tracepoints without tracefs: $(cat "$TMPDIR/bare")"
    "${without_tracefs[@]}" /proc/self/fd/8 record -q -e sched:sched_process_exec -c 1 -o "$TMPDIR/bare.folded" --stats "$TMPDIR/bare.json" -- \
        bash -c '/bin/true; cat /proc/mounts' >"$TMPDIR/mounts" || fail "no recording without tracefs"
    (($(stats_get "$TMPDIR/bare.json" samples) >= 2)) || fail "the execs are missing: $(cat "$TMPDIR/bare.json")"
    ! grep -w tracefs "$TMPDIR/mounts" | grep -v ' /sys/kernel/tracing \| /sys/kernel/debug/tracing ' || fail "the command sees a mount of the recorder's"
fi

# Only of the kernel, or only of the program.
record -e page-faults:u -c 1 -o "$TMPDIR/user.folded" -- "$WORKLOADS/nofp_faults" 1000 >/dev/null
expect_place "$TMPDIR/user.folded" "$faults"
((sampled == 1000)) || fail "$sampled page faults of 1000 in user mode"
expect_no_frame "$TMPDIR/user.folded" "do_syscall_64_[k]"

# The program alone decides what is not to be had.
if ! is_brief; then
    expect_refused 2 "did you mean 'page-faults'" -e page-fault
    expect_refused 2 "--count needs --event" -c 5
    expect_refused 2 "twice" -e cs,faults,cs
    expect_refused 2 "not one of the events" -e cs --metric faults
    expect_refused 2 "needs samples of CPU time" -e cs --off-cpu
    expect_refused 2 "more than 16" -e "$(printf 'r%x,' {1..17})cs"
    expect_refused 4 "no device 'gpu'" -e gpu/x=1/
    if [[ -n $has_tracefs ]]; then
        expect_refused 2 "did you mean 'sched:sched_switch'" -e sched:sched_swich
        expect_refused 2 "matches more than 16" -e '*:*'
        expect_refused 2 "has no field 'prev_pdi'" -e 'sched:sched_switch{prev_pdi}'
    fi
fi
if "$STACKWIDE" events cycles >/dev/null 2>&1; then
    record -e cycles:u -o "$TMPDIR/cycles.folded" -- "$WORKLOADS/burn" 0.2
    expect_frame "$TMPDIR/cycles.folded" main 1000
else
    expect_refused 4 "no PMU that counts cycles" -e cycles
    expect_refused 4 "no PMU that counts r01c4" -e cs,r01c4
fi
"$STACKWIDE" events >"$TMPDIR/events" || fail "the events cannot be listed"
grep -q '^  page-faults, faults ' "$TMPDIR/events" || fail "page-faults is not among the events: $(cat "$TMPDIR/events")"
