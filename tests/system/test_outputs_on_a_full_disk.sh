#!/bin/bash
# A recording cannot be repeated: if one of its files cannot be written, the others appear; status 1.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording

disk=$TMPDIR/disk
mkdir "$disk"
mount -t tmpfs -o size=16k,mode=700 tmpfs "$disk" || skip "cannot mount a tmpfs"
trap 'stop_background; umount "$disk"' EXIT
start "$WORKLOADS/inlined" 60
cd "$TMPDIR"
echo "old 1" >"$disk/x.folded"
dd if=/dev/zero of="$disk/fill" bs=1k 2>/dev/null || true

for options in "" "--flush 0.2s"; do
    rm -f -- ./?*.folded ./*.pb.gz
    # shellcheck disable=SC2086
    expect_status 1 "$STACKWIDE" record -p "$PID" -F 999 -d 0.5s $options -o a.folded -o "$disk/x.folded" -o c.pb.gz \
        --stats stats.json
    grep -q "cannot write '$disk/x.*No space left" err || fail "unclear: $(cat err)"
    for name in a.*folded c.*pb.gz stats*.json; do
        [[ -s $name ]] || fail "no $name with '$options': $(ls)"
    done
    "$STACKWIDE" convert a.*folded -o - --to folded | grep -q inlined || fail "a.folded lacks the program"
    [[ $(ls "$disk") = $'fill\nx.folded' && $(cat "$disk/x.folded") = "old 1" ]] || fail "left behind: $(ls "$disk")"
    ! grep -q "wrote $disk" err || fail "a file that is not there was written"
done
