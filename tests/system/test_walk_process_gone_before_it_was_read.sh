#!/bin/bash
# A process that is gone before the recorder reads of it, as on a busy machine, has whole stacks all
# the same: the tables of a program that nobody else runs are built for its raw stacks.
source "$(dirname "$0")/lib.sh"
need_recording

# So few that the rings take them all meanwhile.
cp "$WORKLOADS/nofp_deep" "$TMPDIR/only_once"
start_recording -a -F 99 --no-cache -o "$TMPDIR/gone.folded" --stats "$TMPDIR/gone.json"
kill -STOP "$RECORDER"
"$TMPDIR/only_once" 1
kill -CONT "$RECORDER"
sleep 0.3
stop_recording
(($(folded_count "$TMPDIR/gone.folded" only_once) > 20)) || fail "few samples"
expect_between "share of stacks from main on" \
    "$(folded_share "$TMPDIR/gone.folded" main only_once)" 95 100
expect_frame "$TMPDIR/gone.folded" "main;$(seq -f 'level_%02g' -s ';' 0 60)"
