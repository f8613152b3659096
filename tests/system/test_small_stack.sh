#!/bin/bash
# Started with a small stack, all commands have a usual one, and the command that is recorded has the small one. Where
# it cannot be had, a line says so.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
cd "$TMPDIR"

(
    ulimit -Ss 64
    "$STACKWIDE" record -q -F 199 -o x.pftrace -o x.html -o x.folded -- bash -c 'ulimit -Ss >limit; echo $((1 + 1))' >out 2>err
) || fail "$? $(cat err)"
[[ $(<limit) = 64 ]] || fail "the command's stack: $(<limit)"
(
    ulimit -Ss 64
    "$STACKWIDE" report x.html >report 2>err && "$STACKWIDE" convert x.pftrace -o y.pb.gz 2>err
) || fail "$? $(cat err)"
[[ -s report && -s y.pb.gz ]] || fail "nothing was written"

(
    ulimit -s 512
    expect_status 1 "$STACKWIDE" report x.html
) || exit 1
[[ $(wc -l <err) = 1 ]] || fail "more than one line: $(<err)"
grep -q 'the stack limit is 512 KB' err || fail "$(<err)"
