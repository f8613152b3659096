#!/bin/bash
# Ctrl-C, SIGTERM and SIGHUP end a recording, which writes its outputs and succeeds.
source "$(dirname "$0")/lib.sh"
need_recording

start "$WORKLOADS/burn" 60
for signal in INT TERM HUP; do
    start_recording -F 499 -o "$TMPDIR/$signal.folded"
    sleep 1
    kill "-$signal" "$RECORDER"
    end_recording
    expect_frame "$TMPDIR/$signal.folded" burn_60 50
done
