#!/bin/bash
# No space for the samples of a trace while it is recorded: one line tells how many are missing, and
# the rest is written; status 1.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording

disk=$TMPDIR/disk
mkdir "$disk"
mount -t tmpfs -o size=16k,mode=700 tmpfs "$disk" || skip "cannot mount a tmpfs"
trap 'stop_background; umount "$disk"' EXIT
dd if=/dev/zero of="$disk/fill" bs=1k 2>/dev/null || true
start "$WORKLOADS/inlined" 60

expect_status 1 env TMPDIR="$disk" "$STACKWIDE" record -q -p "$PID" -F 999 -d 0.5s -o "$TMPDIR/x.pftrace" \
    -o "$TMPDIR/x.folded"
[[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "not one line: $(cat "$TMPDIR/err")"
grep -qE 'the trace lacks [1-9][0-9]* of [1-9][0-9]* samples, 0 slices of waits, 0 slices of stacks, .*No space left.*TMPDIR' "$TMPDIR/err" ||
    fail "unclear: $(cat "$TMPDIR/err")"
[[ -s $TMPDIR/x.folded && -e $TMPDIR/x.pftrace ]] || fail "what could be written was not"
