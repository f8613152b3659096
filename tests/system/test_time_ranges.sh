#!/bin/bash
# A wait and a system call are spread over their time: a range of time has the part that is inside.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

events=()
metrics=(blocked wall)
if "$STACKWIDE" events syscall-time >/dev/null 2>&1; then
    events=(-e cpu-clock,syscall-time)
    metrics+=(syscall-time)
fi
record --off-cpu ${events[@]+"${events[@]}"} -o "$TMPDIR/sleep.html" -o "$TMPDIR/sleep.pftrace" -- sleep 3

# total FILE METRIC KIND RANGE
total() {
    "$STACKWIDE" report --json "$1" --metric "$2" "--$3" "time:$4" 2>>"$TMPDIR/err" |
        python3 -S -c 'import json, sys; print(json.load(sys.stdin)["total"])'
}

# expect_spread FILE METRIC
expect_spread() {
    local whole inside sum=0 second
    whole=$(total "$1" "$2" include 0..)
    inside=$(total "$1" "$2" include 1s..2s)
    # It sleeps from the first second to the third. A wait has the weight of its periods.
    expect_near "ns of $2 in the second second of ${1##*.}" "$inside" 1000000000 20000000
    [[ $((inside + $(total "$1" "$2" exclude 1s..2s))) = "$whole" ]] || fail "the rest of $2 is not the rest"
    for second in 0 1 2 3 4 5 6 7 8 9; do
        sum=$((sum + $(total "$1" "$2" include "${second}s..$((second + 1))s")))
    done
    [[ $sum = "$whole" ]] || fail "the seconds of $2 have $sum of $whole ns"
}

for metric in "${metrics[@]}"; do
    expect_spread "$TMPDIR/sleep.html" "$metric"
done
if grep -q 'counts at its end' "$TMPDIR/err"; then
    fail "a recording without durations: $(cat "$TMPDIR/err")"
fi
# A trace has slices of waits.
expect_spread "$TMPDIR/sleep.pftrace" blocked

# A trace has system calls by their ends only: that is said, also beside a file that has more.
if [[ ${events[*]} ]]; then
    for others in '' "$TMPDIR/sleep.html"; do
        "$STACKWIDE" report ${others:+"$others"} "$TMPDIR/sleep.pftrace" --metric syscall-time --include time:1s..2s \
            >/dev/null 2>"$TMPDIR/err" || true
        grep -q 'counts at its end' "$TMPDIR/err" || fail "a range without durations, beside '$others': $(cat "$TMPDIR/err")"
    done
fi
# Short calls need none.
record -e syscall-time -c 1 -o "$TMPDIR/short.html" -- sleep 0
"$STACKWIDE" report "$TMPDIR/short.html" --include time:0..5s >/dev/null 2>"$TMPDIR/err" || fail "short calls: $(cat "$TMPDIR/err")"
if grep -q 'counts at its end' "$TMPDIR/err"; then
    fail "short calls with durations: $(cat "$TMPDIR/err")"
fi
