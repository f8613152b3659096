#!/bin/bash
# No space for a capture: status 1, one line that says so, and the archive is as it was.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_recording

disk=$TMPDIR/disk
mkdir "$disk"
mount -t tmpfs -o size=128k,mode=700 tmpfs "$disk" || skip "cannot mount a tmpfs"
trap 'stop_background; umount "$disk"' EXIT
start "$WORKLOADS/inlined" 60
workload=$PID

capture() {
    "$STACKWIDE" capture --dir "$disk/archive" -p "$workload" -d 0.2s "$@"
}

expect_status 0 capture --min-free 0
before=$(find "$disk" | sort)
kept=$(find "$disk" -name '*.pb.gz')
sum=$(sha256sum <"$kept")
dd if=/dev/zero of="$disk/fill" bs=1k 2>/dev/null || true

# With a limit it is known before anything is recorded; without one, when it is written.
for min_free in 10% 64K 0; do
    expect_status 1 capture --min-free $min_free
    [[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "not one line: $(cat "$TMPDIR/err")"
    grep -qE 'too full|No space left' "$TMPDIR/err" || fail "unclear: $(cat "$TMPDIR/err")"
done
rm "$disk/fill"
[[ $(find "$disk" | sort) = "$before" ]] || fail "something is left: $(find "$disk")"
[[ $(sha256sum <"$kept") = "$sum" ]] || fail "an old capture is damaged"
expect_status 0 capture --min-free 10%
