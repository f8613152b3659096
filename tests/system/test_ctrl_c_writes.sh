#!/bin/bash
# Ctrl-C, SIGTERM and SIGHUP end a recording, which writes its outputs and succeeds.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

cp "$WORKLOADS/burn" "$TMPDIR/burn_until_end"
start "$TMPDIR/burn_until_end" 600
program=$PID
for signal in INT TERM HUP; do
    start_recording -F 499 -o "$TMPDIR/$signal.folded"
    wait_for_cpu_time 500 "$program"
    kill "-$signal" "$RECORDER"
    end_recording
    expect_frame "$TMPDIR/$signal.folded" burn_until_end 50
done
