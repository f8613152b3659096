#!/bin/bash
# A program in a mount namespace of its own, where its path leads to another file than here.
source "$(dirname "$0")/lib.sh"
need_recording
need_command unshare
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"

# Outside, the path is `forks`; inside, `burn`. One starts before the recording, one during it.
for name in early late; do
    cp "$WORKLOADS/forks" "$TMPDIR/$name"
done
run_inside() {
    start unshare -m sh -c 'mount --bind "$1" "$2" && exec "$2" 60' - "$WORKLOADS/burn" "$1"
    wait_until runs_program "$PID" "$(basename "$1")"
}

run_inside "$TMPDIR/early"
start_recording -F 1999 -o "$TMPDIR/all.folded"
run_inside "$TMPDIR/late"
sleep 2
stop_recording

for name in early late; do
    expect_near "share of burn_60 in $name" \
        "$(folded_share "$TMPDIR/all.folded" burn_60 "$name")" 60 8
done
expect_no_frame "$TMPDIR/all.folded" parent_burn
