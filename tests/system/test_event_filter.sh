#!/bin/bash
# --filter: of a tracepoint's hits, those that match are counted, all of them and no others, as perf counts them by the
# kernel's own filters; the others have an account; what is no filter is said.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
"$STACKWIDE" events syscalls:sys_enter_read | grep -q read 2>/dev/null ||
    skip "the kernel has no tracepoints of system calls, or tracefs is not mounted"

# count_matches NAME OPTION…: how many hits were counted is left in `counted`, in how many samples in `samples`, how many did
# not match in `unmatched`, and of how many the kernel has not told, of whatever thread, in `skipped`.
count_matches() {
    local name=$1
    shift
    record --user-stacks none --buffer-size 16M -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" "$@"
    expect_account_adds_up "$TMPDIR/$name.json"
    python3 -S - "$TMPDIR/$name.json" >"$TMPDIR/counted" <<'PYTHON' || fail "the account of the filter: $(cat "$TMPDIR/$name.json")"
import json, sys
event, = json.load(open(sys.argv[1]))["events"]
parts = sum(event[name] for name in ("idle", "filtered", "unmatched", "weightless", "below_period", "samples"))
skipped = event["lost"]["skipped"]
assert event["fired"] == parts + sum(event["lost"].values()) and sum(event["lost"].values()) == skipped
print(event["weight"] + event["rest"], event["samples"], event["unmatched"], skipped)
PYTHON
    read -r counted samples unmatched skipped <"$TMPDIR/counted"
    echo "$name: $counted hits in $samples samples, $unmatched did not match, $skipped were skipped"
}
# expect_counted NUMBER WHAT: none is counted twice, and what is missing is among those that the kernel has skipped.
expect_counted() {
    ((counted <= $1 && counted + skipped >= $1)) || fail "$counted hits of $2, and $skipped skipped, expected $1"
}

# What is read is known: each size so many times.
read_blocks='dd if=/dev/zero of=/dev/null bs=500 count=20000; dd if=/dev/zero of=/dev/null bs=70000 count=1234; dd if=/dev/zero of=/dev/null bs=1 count=7'
# expect_reads NUMBER FILTER…
expect_reads() {
    local wanted=$1 options=()
    shift
    for filter; do
        options+=(--filter "$filter")
    done
    count_matches reads -e syscalls:sys_enter_read "${options[@]}" -c 1 -- bash -c "$read_blocks" 2>/dev/null
    expect_counted "$wanted" "'$*'"
    ((samples == counted)) || fail "$counted reads in $samples samples match '$*'"
    [[ $counted = 0 || $(folded_total "$TMPDIR/reads.folded") = "$counted" ]] || fail "the weights of '$*' are not $counted"
}
expect_reads 20000 'count == 500'
((unmatched > 1234)) || fail "only $unmatched reads did not match"
expect_reads 1234 'count & 0x10000 && fd == 0'
expect_reads 1241 '!(count == 500) && (count == 1 || count >= 70000)'
expect_reads 1234 'count > 4096' 'fd == 0 && comm ~ "d?"'
expect_reads 20000 'count == 500 && COMM != "bash" && CPU >= 0 && common_pid > 1'
expect_reads 0 'count == 500 && comm == "bash"'
# As many comparisons as there may be, and as long a text; the last one decides.
expect_reads 7 "$(printf 'count == %d || ' {1001..1014})comm == \"$(printf 'x%.0s' {1..63})\" || count == 1"
# Few samples, and the right sum; and the sum of a field.
count_matches some -e syscalls:sys_enter_read --filter 'count == 500' -c 100 -- bash -c "$read_blocks" 2>/dev/null
expect_counted 20000 reads
# Each stands for 50 to 150.
((samples <= 20000 / 50 && samples > 20000 / 150 - $(nproc) - skipped)) || fail "$counted reads, every hundredth sampled: $samples"
count_matches bytes -e 'syscalls:sys_exit_read{ret:By}' --filter 'ret == 500 || ret == 70000' -c 500 -- bash -c "$read_blocks" 2>/dev/null
((counted == 20000 * 500 + 1234 * 70000 || skipped && counted >= 20000 * 500 + 1234 * 70000 - skipped * 70000)) ||
    fail "$counted bytes were counted"

# Text, wherever it is.
run_programs='/bin/true; /bin/true; /bin/cat /dev/null; /bin/true; (exit 3); :'
# expect_runs NUMBER EVENT FILTER
expect_runs() {
    count_matches runs -e "$2" --filter "$3" -c 1 -- bash -c "$run_programs"
    expect_counted "$1" "$2 with '$3'"
}
expect_runs 3 sched:sched_process_exec 'filename == "/bin/true"'
expect_runs 3 sched:sched_process_exec 'filename ~ "*/tr[!a-t]e"'
expect_runs 1 sched:sched_process_exec 'filename ~ "/bin/*" && filename != "/bin/true"'
expect_runs 3 sched:sched_process_exit 'comm == "true"'
expect_runs 3 sched:sched_process_exit 'comm ~ "*ue"'
expect_runs 2 sched:sched_process_exit 'comm ~ "!*t*" || comm == "cat" && pid < 0'
expect_runs 1 syscalls:sys_enter_openat 'filename.ustring == "/dev/null"'
expect_runs 0 syscalls:sys_enter_openat 'filename.ustring == "/dev/nul"'

# What another thread does to one of this name: it is woken when it is seen to sleep.
wake_often='import os
ours, theirs = os.pipe()
child = os.fork()
if not child:
    open("/proc/self/comm", "w").write("woken_often")
    os.close(theirs)
    while os.read(ours, 1): pass
    os._exit(0)
for i in range(100):
    while "woken_often) S" not in open(f"/proc/{child}/stat").read(): pass
    os.write(theirs, b".")
os.kill(child, 9)
os.wait()'
# The kernel does not tell of what comes while a program runs on that CPU, or a map is changed there; it counts these since
# Linux 6.7.
kernel_counts_skipped() { printf '%s\n' 6.7 "$(uname -r)" | sort -CV; }
count_matches wakeups -a -e sched:sched_wakeup --filter 'comm == "woken_often"' -c 1 -- python3 -S -c "$wake_often"
kernel_counts_skipped || skipped=10
# Ending it wakes it once more.
((counted <= 101 && counted + skipped >= 100)) || fail "it was woken 100 times, $counted were counted, $skipped skipped"

# What an interrupt does to it, whoever runs then, and where nobody does. Of some threads that are interrupted a kernel tells
# nothing, perf neither: how many there are of those is not known.
wait_often='import time
open("/proc/self/comm", "w").write("woken_often")
for i in range(100):
    time.sleep(0.001)'
count_matches interrupts -a -e sched:sched_wakeup --filter 'comm == "woken_often"' -c 1 -- python3 -S -c "$wait_often"
((counted && counted <= 100)) || fail "it was woken $counted times, and has slept 100 times"
count_matches others -a -e sched:sched_wakeup --filter 'comm == "woken_oft"' -c 1 -- python3 -S -c "$wake_often"
kernel_counts_skipped || skipped=10
((counted == 0 && unmatched + skipped >= 100)) || fail "$counted threads of another name were woken, $unmatched of others"

# A filter is for the events before it, all that a pattern matches, and for no others.
record -e 'syscalls:sys_enter_*read' --filter 'count == 500' -e syscalls:sys_enter_write -c 1 --buffer-size 64M \
    -o "$TMPDIR/two.pb.gz" --stats "$TMPDIR/two.json" -- dd if=/dev/zero of=/dev/null bs=500 count=3000 2>/dev/null
python3 -S - "$TMPDIR/two.json" <<'PYTHON' || fail "the filter of some: $(cat "$TMPDIR/two.json")"
import json, sys
events = {event["name"].split("sys_enter_")[1]: event for event in json.load(open(sys.argv[1]))["events"]}
assert events["read"]["samples"] <= 3000 <= events["read"]["samples"] + events["read"]["lost"]["skipped"]
assert events["write"]["samples"] + events["write"]["lost"]["skipped"] >= 3000 and events["write"]["unmatched"] == 0
assert len(events) > 2 or "pread" not in events
PYTHON

# As perf counts them.
if command -v perf >/dev/null && perf stat -x, -e syscalls:sys_enter_read -o "$TMPDIR/perf.csv" -- true 2>/dev/null; then
    # expect_as_perf EVENT FILTER COMMAND
    expect_as_perf() {
        local theirs
        perf stat -x, -e "$1" --filter "$2" -o "$TMPDIR/perf.csv" -- bash -c "$3" 2>/dev/null || fail "perf refuses '$2'"
        theirs=$(awk -F, -v event="$1" '$3 == event { print $1 }' "$TMPDIR/perf.csv")
        count_matches perf -e "$1" --filter "$2" -c 1 -- bash -c "$3" 2>/dev/null
        expect_counted "$theirs" "$1 with '$2', as perf counts them"
    }
    for filter in 'count >= 500 && count <= 70000 && fd == 0' 'count != 500 && fd == 0 && comm == "dd" && count != 832' '!count & 0x100 && count & 1' \
        'count == 0xffffffff || count == 07 || count == 1 && comm ~ "d*"'; do
        expect_as_perf syscalls:sys_enter_read "$filter" "$read_blocks"
    done
    for filter in 'filename ~ "*in*t*"' 'filename ~ "[!x]bin[/]t??e"' 'filename ~ "/bin/\true" || pid < 0' 'filename ~ "!*e"'; do
        expect_as_perf sched:sched_process_exec "$filter" "$run_programs"
    done
else
    echo "perf is not to be had here: nothing to compare with"
fi

# What is none.
expect_refused 2 "no tracepoint precedes it" --filter 'pid == 1' -e sched:sched_wakeup
expect_refused 2 "cs: only tracepoints have filters" -e sched:sched_wakeup,cs --filter 'pid == 1'
expect_refused 2 "did you mean 'pid'" -e sched:sched_wakeup --filter 'pdi == 1'
expect_refused 2 "sched:sched_process_exec: filter 'comm == \"x\" && prio > 1', column 16: no field 'prio'" \
    -e 'sched:sched_process_ex*' --filter 'comm == "x" && prio > 1'
expect_refused 2 "column 9: the field is text: expected a value in quotes" -e sched:sched_wakeup --filter 'comm == bash'
expect_refused 2 "expected filename.ustring" -e syscalls:sys_enter_openat --filter 'filename == "x"'
expect_refused 2 "more than 16 comparisons" -e sched:sched_wakeup --filter "$(printf 'pid == %d || ' {1..16})pid == 17"
expect_refused 2 "different modifiers or filters" -e sched:sched_wakeup --filter 'pid == 1' -e sched:sched_wakeup
