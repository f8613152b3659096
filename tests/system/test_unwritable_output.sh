#!/bin/bash
# An output that cannot be written is told before anything is recorded or run: what recorded first
# would do so until the runner ends it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

for output in "$TMPDIR/missing/out.folded" "/proc/out.folded"; do
    for option in -o --stats; do
        expect_status 1 "$STACKWIDE" record "$option" "$output" -d 1h
        grep -qF "$output" "$TMPDIR/err" || fail "does not name it: $(cat "$TMPDIR/err")"
        [[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "more than one line: $(cat "$TMPDIR/err")"
    done
done

expect_status 1 "$STACKWIDE" record -o "$TMPDIR/missing/out.folded" -- touch "$TMPDIR/was-run"
[[ ! -e $TMPDIR/was-run ]] || fail "ran the command"

# A device is written to, not renamed over.
if [[ -c /dev/full ]]; then
    start "$WORKLOADS/burn" 60
    expect_status 1 "$STACKWIDE" record -d 1 --to folded -o /dev/full
    [[ -c /dev/full ]] || fail "replaced /dev/full by a file"
fi
