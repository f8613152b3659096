#!/bin/bash
# A user's file system (FUSE) says that its file is root's; so does an overlay over it, as a user can
# mount one. Its names are not given to root's program of the same path and build ID.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cpu_time.sh"
need_recording
need_command unshare
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"

sed 's/burn_\([0-9]\)/evil_\1/g' "$WORKLOADS/burn" >"$TMPDIR/forged"
mkdir "$TMPDIR/fuse" "$TMPDIR/empty" "$TMPDIR/merged"
trap 'stop_background; umount -l "$TMPDIR/fuse" 2>/dev/null || true' EXIT
start "$WORKLOADS/hostile/fuse_file" "$TMPDIR/fuse" "$TMPDIR/forged"
server=$PID
is_mounted_or_gone() { [[ -e $TMPDIR/fuse/program ]] || ! kill -0 "$server" 2>/dev/null; }
wait_until is_mounted_or_gone
[[ -e $TMPDIR/fuse/program ]] || skip "FUSE is not permitted here"
[[ $(stat -c %u "$TMPDIR/fuse/program") = 0 ]] || fail "the owner is not forged"

programs=()
for name in plain overlaid; do
    cp "$WORKLOADS/burn" "$TMPDIR/$name"
done
start unshare -m sh -c 'mount --bind "$1/fuse/program" "$1/plain" && exec "$1/plain" 60' - "$TMPDIR"
wait_until runs_program "$PID" plain
programs+=("$PID")
start unshare -m sh -c 'mount -t overlay -o "lowerdir=$1/fuse:$1/empty" none "$1/merged" &&
    mount --bind "$1/merged/program" "$1/overlaid" && exec "$1/overlaid" 60' - "$TMPDIR"
wait_until runs_program "$PID" overlaid
programs+=("$PID")
for name in plain overlaid; do
    start "$TMPDIR/$name" 60
    wait_until runs_program "$PID" "$name"
    programs+=("$PID")
done

start_recording -a -F 999 --root pid -o "$TMPDIR/all.folded"
wait_for_cpu_times 500 "${programs[@]}"
stop_recording

for program in "plain-${programs[2]}" "overlaid-${programs[3]}"; do
    forged=$(folded_count "$TMPDIR/all.folded" evil_60 "$program")
    ((forged == 0)) || fail "$forged samples of $program have a forged name"
    expect_share "$TMPDIR/all.folded" burn_60 "$program" 60 499
done
for program in "plain-${programs[0]}" "overlaid-${programs[1]}"; do
    [[ $(folded_count "$TMPDIR/all.folded" evil_60 "$program") -gt 20 ]] ||
        fail "the names of $program are not its own"
done
