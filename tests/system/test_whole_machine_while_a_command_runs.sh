#!/bin/bash
# -a -- COMMAND: everything is recorded, as long as the command runs; its status is still ours.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

# The command ends when the program beside it has used half a second, too.
for name in burn deep; do
    cp "$WORKLOADS/$name" "$TMPDIR/${name}_in_all"
done
start "$TMPDIR/burn_in_all" 600
goal=$(($(cpu_ms "$PID") / 10 + 50))
# shellcheck disable=SC2016 # the inner shell is to expand it
expect_status 3 "$STACKWIDE" record -a -F 499 -o "$TMPDIR/out.folded" -- \
    bash -c '"$1" 0.5
        while read -ra stat <"/proc/$2/stat" && ((stat[13] + stat[14] < $3)); do sleep 0.1; done
        exit 3' - "$TMPDIR/deep_in_all" "$PID" "$goal"
for name in burn deep; do
    grep "^${name}_in_all;" "$TMPDIR/out.folded" >"$TMPDIR/$name.folded" || fail "$name is not recorded"
done
expect_frame "$TMPDIR/burn.folded" burn_60 30
expect_frame "$TMPDIR/deep.folded" level_65 30
