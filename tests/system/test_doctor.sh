#!/bin/bash
# `stackwide doctor` says of each thing in one line whether it is there; its status is that of the
# recording that it tries.
# runs: beside others
. "$(dirname "$0")/lib.sh"

exec 9<"$STACKWIDE"
one_line_each() {
    ! grep -Ev '^(ok|missing)  +[A-Za-z_][A-Za-z_ ]{1,20} .{2,}' "$TMPDIR/out" || fail "odd lines"
    grep -q '^.* test recording ' "$TMPDIR/out" || fail "no test recording"
}

if [[ $(id -u) = 0 ]] && command -v setpriv >/dev/null; then
    expect_status 4 setpriv --reuid 65534 --regid 65534 --clear-groups /proc/self/fd/9 doctor
    one_line_each
    grep -q '^missing  test recording .*CAP_' "$TMPDIR/out" || fail "no capability is named"
    grep -q '^missing  capabilities .*sudo' "$TMPDIR/out" || fail "no cure is named"
fi
expect_status 2 "$STACKWIDE" doctor now

need_recording
expect_status 0 "$STACKWIDE" doctor
one_line_each
samples=$(sed -n 's/^ok  *test recording  *\([0-9]*\) samples .*/\1/p' "$TMPDIR/out")
expect_between "samples of the test recording" "$samples" 20 10000
