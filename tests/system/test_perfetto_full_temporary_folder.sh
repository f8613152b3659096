#!/bin/bash
# No space for the samples of a trace while it is recorded: one line tells how many are missing, the other files are
# written, and an old trace stays as it is; status 1.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording

disk=$TMPDIR/disk
mkdir "$disk"
mount -t tmpfs -o size=16k,mode=700 tmpfs "$disk" || skip "cannot mount a tmpfs"
trap 'stop_background; umount "$disk"' EXIT
dd if=/dev/zero of="$disk/fill" bs=1k 2>/dev/null || true
start "$WORKLOADS/inlined" 60
echo old >"$TMPDIR/x.pftrace"

expect_status 1 env TMPDIR="$disk" "$STACKWIDE" record -q -p "$PID" -F 999 -d 0.5s -o "$TMPDIR/x.pftrace" \
    -o "$TMPDIR/x.folded"
[[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "not one line: $(cat "$TMPDIR/err")"
grep -qE 'the trace lacks [1-9][0-9]* of [1-9][0-9]* samples, .*No space left.*TMPDIR' "$TMPDIR/err" ||
    fail "unclear: $(cat "$TMPDIR/err")"
! grep -q '[ ,]0 ' "$TMPDIR/err" || fail "0 of something is missing: $(cat "$TMPDIR/err")"
[[ -s $TMPDIR/x.folded ]] || fail "what could be written was not"
[[ $(cat "$TMPDIR/x.pftrace") = old ]] || fail "the old trace has given way to one without samples"

expect_status 1 env TMPDIR="$disk" "$STACKWIDE" record -p "$PID" -F 999 -d 0.5s -o "$TMPDIR/x.pftrace" \
    -o "$TMPDIR/x.folded"
grep -qE '^ +lost +nothing but in the trace$' "$TMPDIR/err" || fail "lost nothing? $(cat "$TMPDIR/err")"
grep -q 'wrote .*x.folded' "$TMPDIR/err" || fail "no word of x.folded"
! grep -q 'wrote .*x.pftrace' "$TMPDIR/err" || fail "a file that is not there was written"
