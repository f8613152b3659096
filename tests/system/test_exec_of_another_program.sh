#!/bin/bash
# A process that execs another program: each part has the names of its own program.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

start_recording -F 999 -o "$TMPDIR/all.folded"
"$WORKLOADS/execs" "$WORKLOADS/burn" 2
stop_recording
record -F 999 -o "$TMPDIR/command.folded" -- "$WORKLOADS/execs" "$WORKLOADS/burn" 2

# Before its own code run exec and the dynamic linker, on some machines for long.
is_starting='^execs;([^;]+_\[k\]|.*[;[]ld-)'

for file in "$TMPDIR"/{command,all}.folded; do
    grep -Ev "$is_starting" "$file" >"$TMPDIR/started.folded"
    expect_between "share of before_exec in execs" \
        "$(folded_share "$TMPDIR/started.folded" before_exec execs)" 90 100
    expect_share "$file" burn_60 burn 60 5 2000 999
    expect_near "share of before_exec in burn" "$(folded_share "$file" before_exec burn)" 0 0
    expect_near "share of burn_60 in execs" "$(folded_share "$file" burn_60 execs)" 0 0
done
