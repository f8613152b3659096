#!/bin/bash
# A process that is gone before the recorder reads of it, as on a busy machine, has whole stacks all
# the same: the tables of a program that nobody else runs are built for its raw stacks.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# So few samples that the rings take them all meanwhile. The second program's stack begins in a page
# that it has not touched.
for name in deep untouched; do
    cp "$WORKLOADS/nofp_$name" "$TMPDIR/once_$name"
done
mkfifo "$TMPDIR/begin" "$TMPDIR/end"
start bash -c 'read -r _ <"$1/begin"; "$1/once_deep" 1; "$1/once_untouched"; echo >"$1/end"; exec sleep 60' \
    - "$TMPDIR"
start_recording -p "$PID" -F 49 --no-cache -o "$TMPDIR/gone.folded" --stats "$TMPDIR/gone.json"
kill -STOP "$RECORDER"
echo >"$TMPDIR/begin"
read -r _ <"$TMPDIR/end" || true
kill -CONT "$RECORDER"
sleep 0.3
stop_recording
for name in deep untouched; do
    (($(folded_count "$TMPDIR/gone.folded" "once_$name") > 5)) || fail "few samples of $name"
    expect_between "share of stacks of $name from main on" \
        "$(folded_share "$TMPDIR/gone.folded" main "once_$name")" 95 100
done
expect_frame "$TMPDIR/gone.folded" "main;$(seq -f 'level_%02g' -s ';' 0 60)"
expect_frame "$TMPDIR/gone.folded" "main;spin_untouched"
