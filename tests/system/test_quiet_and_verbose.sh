#!/bin/bash
# -q says nothing, -v what is being done; standard output holds data only.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

run() { expect_status 0 "$STACKWIDE" record -F 499 "$@" -o "$TMPDIR/out.folded" -- "$WORKLOADS/burn" 0.2; }

run -q
[[ ! -s $TMPDIR/err ]] || fail "quiet, but said: $(cat "$TMPDIR/err")"
run
grep -q '^wrote ' "$TMPDIR/err" || fail "no summary: $(cat "$TMPDIR/err")"
! grep -q debug "$TMPDIR/err" || fail "verbose without -v: $(cat "$TMPDIR/err")"
run -v
grep -q '^stackwide: debug: sampling' "$TMPDIR/err" || fail "not verbose: $(cat "$TMPDIR/err")"
grep -q '^wrote ' "$TMPDIR/err" || fail "no summary with -v: $(cat "$TMPDIR/err")"
[[ ! -s $TMPDIR/out ]] || fail "wrote to standard output"
# No progress and no colour where there is no terminal.
! grep -q $'[\r\033]' "$TMPDIR/err" || fail "control characters in: $(cat -v "$TMPDIR/err")"
# Samples that are in no stack are told of.
run --user-stacks none --root none
grep -q 'have no frames' "$TMPDIR/err" || fail "no word of samples without frames: $(cat "$TMPDIR/err")"
