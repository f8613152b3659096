#!/bin/bash
# -p: children count that were there before the recording, and theirs, and those that start while
# the recording begins; --no-children leaves out all, those to come too.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

# A shell that waits for a shell that waits for a program: the work is the grandchild's.
# shellcheck disable=SC2016 # for the inner shells
start bash -c 'bash -c "\"$1/burn\" 300; :" - "$1"; :' - "$WORKLOADS"
root=$PID
find_burn() { burn=$(pgrep -f -P "$(pgrep -P "$root" || echo "$root")" "^$WORKLOADS/burn "); }
wait_until find_burn
start "$WORKLOADS/deep" 300 # nobody's
BACKGROUND+=("$burn")

record_cpu_time 250 "$burn" -F 999 -p "$root" --stats "$TMPDIR/tree.json" --root pid -o "$TMPDIR/tree.folded"
expect_frame "$TMPDIR/tree.folded" "burn-$burn" 100
expect_near "share of the grandchild" "$(folded_share "$TMPDIR/tree.folded" "burn-$burn")" 100 1
expect_share "$TMPDIR/tree.folded" burn_60 "burn-$burn" 60 250

expect_status 2 "$STACKWIDE" record --no-children -d 1 -o "$TMPDIR/out.folded"
record_cpu_time 150 "$burn" -F 999 --no-children -p "$root" -o "$TMPDIR/alone.folded"
expect_no_frame "$TMPDIR/alone.folded" burn
grep -q "process $root (bash) did not run at any tick in [0-9.]* s: it is waiting" "$TMPDIR/record.err" ||
    fail "does not say that the shell waits: $(cat "$TMPDIR/record.err")"
stop_background # they would only take time from the others

# What starts later is left out as well, by either program; threads are no children.
for walk in table fp; do
    # shellcheck disable=SC2016
    start bash -c 'until [ -e "$2" ]; do sleep 0.1; done; "$1/burn" 0.5; "$1/burn" 0.5; exec "$1/threads" 0.3' \
        - "$WORKLOADS" "$TMPDIR/begin.$walk"
    start_recording -F 999 -d 1h --no-children --user-stacks "$walk" --stats "$TMPDIR/later.json" \
        -p "$PID" -o "$TMPDIR/later.folded"
    touch "$TMPDIR/begin.$walk"
    end_recording
    expect_no_frame "$TMPDIR/later.folded" burn
    expect_frame "$TMPDIR/later.folded" work_a 100
    expect_frame "$TMPDIR/later.folded" work_c 100
    expect_account_adds_up "$TMPDIR/later.json"
done

# The recordings that --flush makes one of the other leave them out, too.
# shellcheck disable=SC2016
start bash -c '"$1/burn" 300 & "$1/burn" 300 & while :; do :; done' - "$WORKLOADS"
has_two() { mapfile -t burns < <(pgrep -P "$PID" burn); ((${#burns[@]} == 2)); }
wait_until has_two
BACKGROUND+=("${burns[@]}")
record -F 499 -d 1.5 --flush 0.5 --no-children -p "$PID" -o "$TMPDIR/flushed.folded"
cat "$TMPDIR"/flushed.*.folded >"$TMPDIR/flushes.folded"
expect_no_frame "$TMPDIR/flushes.folded" burn
expect_frame "$TMPDIR/flushes.folded" bash 20
kill -KILL "$PID" "${burns[@]}"

# Children that come and go all the time, of parents that were there.
for name in one two three; do
    cp "$WORKLOADS/burn" "$TMPDIR/burn_$name"
done
# shellcheck disable=SC2016
start bash -c 'for name in one two three; do
    bash -c "while :; do \"$1/burn_$name\" 0.02; done" - "$1" &
done; wait' - "$TMPDIR"
spawner=$PID
has_all() { [[ $(pgrep -c -P "$spawner") = 3 ]]; }
wait_until has_all
mapfile -t loops < <(pgrep -P "$spawner")
BACKGROUND+=("${loops[@]}")
# The CPU time of what a loop has run so far, in ticks of 10 ms.
count_ticks() { awk '{ sub(/.*\) /, ""); print $14 + $15 }' "/proc/$1/stat"; }
have_all_run() {
    local i
    for i in "${!loops[@]}"; do
        (($(count_ticks "${loops[i]}") >= before[i] + 20)) || return 1
    done
}
for _ in {1..2}; do
    start_recording -F 999 -p "$spawner" -o "$TMPDIR/storm.folded"
    before=()
    for pid in "${loops[@]}"; do
        before+=("$(count_ticks "$pid")")
    done
    wait_until have_all_run
    stop_recording
    for name in one two three; do
        expect_frame "$TMPDIR/storm.folded" "burn_$name" 50
    done
done
