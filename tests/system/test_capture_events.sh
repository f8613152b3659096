#!/bin/bash
# Captures of events, which the configuration names and the command line overrides: each is a metric of the
# capture, and the history says how many samples there were, whatever they weigh.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording

archive=$TMPDIR/archive
num_pages=20000
cat >"$TMPDIR/capture.conf" <<END
dir = $archive
event = page-faults,minor-faults
count = 100
duration = 10m
min-free = 0
END

# capture_faults OPTION…: of a program that touches its pages when the capture has begun, and ends
capture_faults() {
    rm -f "$TMPDIR/go"
    mkfifo "$TMPDIR/go"
    exec 3<>"$TMPDIR/go"
    # shellcheck disable=SC2016 # the inner shell's
    start bash -c 'exec "$1" "$3" go <"$2" >/dev/null 3>&-' - "$WORKLOADS/nofp_faults" "$TMPDIR/go" "$num_pages"
    load=$PID
    wait_until runs_program "$load" nofp_faults
    start "$STACKWIDE" capture -v --config "$TMPDIR/capture.conf" -p "$load" "$@" 3>&- 2>"$TMPDIR/capture.err"
    local capture=$PID
    wait_until grep -q 'sampling' "$TMPDIR/capture.err"
    echo >&3
    exec 3>&-
    wait "$load"
    wait "$capture" || fail "capture ended with status $?: $(cat "$TMPDIR/capture.err")"
}
get_metrics() { "$STACKWIDE" report --json "$1" --metric "$2" | grep -o '"metric": {[^}]*}'; }

capture_faults
made=$(find "$archive" -name '*.pb.gz')
for event in page-faults minor-faults; do
    [[ $(get_metrics "$made" "$event") = "\"metric\": {\"name\": \"$event\", \"unit\": \"count\"}" ]] ||
        fail "$event is no metric of the capture: $(get_metrics "$made" "$event")"
done
"$STACKWIDE" history --dir "$archive" --json >"$TMPDIR/history.json"
python3 -S - "$TMPDIR/history.json" "$num_pages" <<'PYTHON' || fail "the history: $(cat "$TMPDIR/history.json")"
import json, sys
row, = json.load(open(sys.argv[1]))["captures"]
pages = int(sys.argv[2])
print(f"{row['samples']} samples stand for {row['weight']} page faults, {row['process']['weight']} of them {row['process']['name']}'s")
assert pages * 0.98 <= row["weight"] <= pages * 1.1
assert row["weight"] == row["process"]["weight"]
assert 2 * pages / 100 * 0.95 <= row["samples"] <= 2 * pages / 100 * 1.2
assert "load" not in row
PYTHON

# The list as a whole is overridden.
rm -r "$archive"
capture_faults --event minor-faults
made=$(find "$archive" -name '*.pb.gz')
[[ $(get_metrics "$made" minor-faults) = *minor-faults* ]] || fail "the command line's event is not in the capture"
expect_status 2 "$STACKWIDE" report "$made" --metric page-faults

sed -i 's/^event.*/event = page-fault/' "$TMPDIR/capture.conf"
expect_status 2 "$STACKWIDE" capture --config "$TMPDIR/capture.conf"
grep -qF "did you mean 'page-faults'" "$TMPDIR/err" || fail "an unknown event: $(cat "$TMPDIR/err")"
