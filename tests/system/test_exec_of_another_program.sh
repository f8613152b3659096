#!/bin/bash
# A process that execs another program: each part has the names of its own program.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

cp "$WORKLOADS/execs" "$TMPDIR/execs_another"
cp "$WORKLOADS/burn" "$TMPDIR/burn_executed"
start_recording -F 999 -o "$TMPDIR/all.folded"
"$TMPDIR/execs_another" "$TMPDIR/burn_executed" 2
stop_recording
record -F 999 -o "$TMPDIR/command.folded" -- "$TMPDIR/execs_another" "$TMPDIR/burn_executed" 2

for file in "$TMPDIR"/{command,all}.folded; do
    # Before its own code run exec and the dynamic linker, on some machines for long.
    grep '^execs_another;.*;main;' "$file" >"$TMPDIR/started.folded"
    expect_frame "$TMPDIR/started.folded" before_exec 30
    expect_between "share of before_exec in execs" "$(folded_share "$TMPDIR/started.folded" before_exec)" 90 100
    expect_share "$file" burn_60 burn_executed 60 1998
    expect_no_frame "$file" before_exec burn_executed
    expect_no_frame "$file" burn_60 execs_another
done
