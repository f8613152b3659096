#!/bin/bash
# A program in a mount namespace of its own, where its path leads to another file than here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording
need_command unshare
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"

# Outside, the path is `forks`; inside, `burn`. One starts before the recording, one during it.
for name in mounted_early mounted_late; do
    cp "$WORKLOADS/forks" "$TMPDIR/$name"
done
programs=()
run_inside() {
    start unshare -m sh -c 'mount --bind "$1" "$2" && exec "$2" 60' - "$WORKLOADS/burn" "$1"
    wait_until runs_program "$PID" "$(basename "$1")"
    programs+=("$PID")
}

run_inside "$TMPDIR/mounted_early"
start_recording -F 1999 -o "$TMPDIR/all.folded"
run_inside "$TMPDIR/mounted_late"
wait_for_cpu_times 500 "${programs[@]}"
stop_recording

for name in mounted_early mounted_late; do
    expect_share "$TMPDIR/all.folded" burn_60 "$name" 60 999
    expect_no_frame "$TMPDIR/all.folded" parent_burn "$name"
done
