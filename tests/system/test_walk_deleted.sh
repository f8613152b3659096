#!/bin/bash
# Stacks of a program whose file is deleted, before or after its recording begins, are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

cp "$WORKLOADS/nofp_deep" "$TMPDIR/early"
start "$TMPDIR/early" 60
wait_until runs_program "$PID" early
rm "$TMPDIR/early"
record_cpu_time 750 "$PID" -F "$FREQUENCY" --no-inline -p "$PID" -o "$TMPDIR/early.folded" --stats "$TMPDIR/early.json"
expect_whole "$TMPDIR/early.folded" "$TMPDIR/early.json" "a program deleted before" 98
expect_frame "$TMPDIR/early.folded" "$(seq -f 'level_%02g' -s ';' 0 65)" 20

# shellcheck disable=SC2016 # the inner shell is to expand it
expect_deep late bash -c 'cp "$1" "$2"; exec 3<"$2"; (until [[ $(</proc/$$/comm) = late ]]; do sleep 0.05; done
    sleep 0.3; rm "$2") & exec "$2" 1' - \
    "$WORKLOADS/nofp_deep" "$TMPDIR/late"
expect_frame "$TMPDIR/late.folded" "$(seq -f 'level_%02g' -s ';' 0 65)" 20
