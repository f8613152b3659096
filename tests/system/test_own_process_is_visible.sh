#!/bin/bash
# What the profiler itself costs can be seen in the profile.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

for _ in 1 2 3; do
    start "$WORKLOADS/spawn" 60 "$WORKLOADS/short_lived" >/dev/null
done
record -F 9999 -d 1 -o "$TMPDIR/out.folded"
expect_frame "$TMPDIR/out.folded" stackwide
