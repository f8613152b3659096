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

# total METRIC KIND RANGE
total() {
    "$STACKWIDE" report --json "$TMPDIR/sleep.html" --metric "$1" "--$2" "time:$3" 2>>"$TMPDIR/err" |
        python3 -S -c 'import json, sys; print(json.load(sys.stdin)["total"])'
}
for metric in "${metrics[@]}"; do
    whole=$(total "$metric" include 0..)
    inside=$(total "$metric" include 1s..2s)
    # It sleeps from the first second to the third. A wait has the weight of its periods.
    expect_near "ns of $metric in the second second" "$inside" 1000000000 20000000
    [[ $((inside + $(total "$metric" exclude 1s..2s))) = "$whole" ]] || fail "the rest of $metric is not the rest"
    sum=0
    for second in 0 1 2 3 4 5 6 7 8 9; do
        sum=$((sum + $(total "$metric" include "${second}s..$((second + 1))s")))
    done
    [[ $sum = "$whole" ]] || fail "the seconds of $metric have $sum of $whole ns"
done
if grep -q 'counts at its end' "$TMPDIR/err"; then
    fail "a recording without durations: $(cat "$TMPDIR/err")"
fi

# A trace has waits by their ends only: that is said, also beside a file that has more.
for others in '' "$TMPDIR/sleep.html"; do
    "$STACKWIDE" report ${others:+"$others"} "$TMPDIR/sleep.pftrace" --metric blocked --include time:1s..2s >/dev/null 2>"$TMPDIR/err" || true
    grep -q 'counts at its end' "$TMPDIR/err" || fail "a range without durations, beside '$others': $(cat "$TMPDIR/err")"
done
# Short calls need none.
record -e syscall-time -c 1 -o "$TMPDIR/short.html" -- sleep 0
"$STACKWIDE" report "$TMPDIR/short.html" --include time:0..5s >/dev/null 2>"$TMPDIR/err" || fail "short calls: $(cat "$TMPDIR/err")"
if grep -q 'counts at its end' "$TMPDIR/err"; then
    fail "short calls with durations: $(cat "$TMPDIR/err")"
fi
