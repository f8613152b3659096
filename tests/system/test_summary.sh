#!/bin/bash
# The summary names samples, CPUs, losses, our own cost, the top functions and the files.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

start "$WORKLOADS/burn" 60
record_cpu_time 1000 "$PID" -F 499 -p "$PID" -o "$TMPDIR/out.folded" -o "$TMPDIR/out.txt"
for word in samples CPU lost complete burn_60 burn_30 "$TMPDIR/out.folded" "$TMPDIR/out.txt"; do
    grep -qiF -- "$word" "$TMPDIR/record.err" || fail "no '$word' in: $(cat "$TMPDIR/record.err")"
done
