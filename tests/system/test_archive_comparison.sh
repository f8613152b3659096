#!/bin/bash
# A function is made slower between two periods: diff finds it in the archive by the periods' times,
# and calls nothing else larger but by chance. report and convert take what lies between two times.
# runs: in turn
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cpu_time.sh"
need_recording

archive=$TMPDIR/archive
# capture_program FACTOR: three captures of a program whose `tuned` is FACTOR times as slow
capture_program() {
    start "$WORKLOADS/tuned" 600 "$1"
    local pid=$PID capture
    for _ in 1 2 3; do
        start "$STACKWIDE" capture --dir "$archive" -p "$pid" -d 1h -F 1998 --min-free 0
        capture=$PID
        wait_until is_sampling "$capture"
        wait_for_cpu_time 500 "$pid"
        kill -TERM "$capture"
        wait "$capture" || fail "a capture failed"
    done
    kill "$pid"
}

begin=$(date +%s)
capture_program 1
sleep 1.1
middle=$(date +%s)
capture_program 2.5
end=$(($(date +%s) + 1))

"$STACKWIDE" diff --dir "$archive" --before "@$begin..@$middle" --after "@$middle..@$end" --json \
    >"$TMPDIR/diff.json"
changed=$(python3 - "$TMPDIR/diff.json" <<'PYTHON'
import json, sys
# The clock that all of them read costs what the machine makes it cost.
changed = [f for f in json.load(open(sys.argv[1]))["functions"]
           if not f["total"]["noise"] and (f["name"] == "tuned" or f["name"].startswith("steady_"))]
changed.sort(key=lambda f: -abs(f["total"]["change"]))
# The others have a little less of the whole: that may be found, or not.
print(*[f["name"] for f in changed if f["name"] == "tuned" or f["total"]["change"] > 0])
PYTHON
)
[[ $changed =~ ^tuned(\ steady_.){0,2}$ ]] ||
    fail "diff calls these larger: '$changed', expected tuned first, and two more by chance at most"

# The two halves are the whole, and each is what the files of its time are.
"$STACKWIDE" convert --dir "$archive" --until "@$middle" -o "$TMPDIR/before.folded"
"$STACKWIDE" convert --dir "$archive" --since "@$middle" -o "$TMPDIR/after.folded"
"$STACKWIDE" convert --dir "$archive" -o "$TMPDIR/all.folded"
mapfile -t files < <(find "$archive" -name '*.pb.gz' | sort)
((${#files[@]} == 6)) || fail "${#files[@]} captures, expected 6"
"$STACKWIDE" convert "${files[@]:0:3}" -o "$TMPDIR/files.folded"
cmp "$TMPDIR/files.folded" "$TMPDIR/before.folded" || fail "other captures than the first three"
expect_near "samples of both halves" \
    $(($(folded_total "$TMPDIR/before.folded") + $(folded_total "$TMPDIR/after.folded"))) \
    "$(folded_total "$TMPDIR/all.folded")" 0
expect_share "$TMPDIR/before.folded" "main;tuned" main 7.7 2997
expect_share "$TMPDIR/after.folded" "main;tuned" main 17.2 2997
"$STACKWIDE" report --dir "$archive" --since "@$middle" --json >"$TMPDIR/report.json"
expect_near "report's total" "$(stats_get "$TMPDIR/report.json" total)" \
    "$(folded_total "$TMPDIR/after.folded")" 0

expect_status 1 "$STACKWIDE" report --dir "$archive" --until "@$((begin - 1))"
grep -q 'no capture in' "$TMPDIR/err" || fail "unclear: $(cat "$TMPDIR/err")"
expect_status 2 "$STACKWIDE" report --dir "$archive" "${files[0]}"
expect_status 2 "$STACKWIDE" diff --dir "$archive" --before "@$begin..@$middle"
expect_status 2 "$STACKWIDE" diff --before "@$begin..@$middle" --after now..
expect_status 2 "$STACKWIDE" convert --since today "${files[0]}" -o "$TMPDIR/x.folded"
