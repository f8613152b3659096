#!/bin/bash
# What cannot be meant is status 2, told on standard error, before anything is done.
# runs: beside others
source "$(dirname "$0")/lib.sh"

# usage_error WORD ARGUMENT…: the message holds WORD.
usage_error() {
    local word=$1
    shift
    expect_status 2 "$STACKWIDE" "$@"
    grep -qF -- "$word" "$TMPDIR/err" || fail "$*: no '$word' in: $(cat "$TMPDIR/err")"
    [[ ! -s $TMPDIR/out ]] || fail "$*: wrote to standard output"
}

cd "$TMPDIR"
usage_error nonsense nonsense
usage_error nonsense help nonsense
usage_error nonsense record --nonsense
usage_error nonsense record --to nonsense -o x
usage_error x.nonsense record -o x.nonsense
usage_error --to record -o -
for value in 0 -1 1x abc '' 0x10 1e400 nan; do
    usage_error "${value:-duration}" record -d "$value"
done
for value in 0 -1 abc 1.5 99999999999; do
    usage_error "$value" record -F "$value"
done
for option in -p -t; do
    for value in abc 0 -5 '12,' ',12' 12x 99999999999; do
        usage_error "$value" record "$option" "$value"
    done
done
usage_error threads record --root threads
usage_error maybe record --kernel-stacks maybe
usage_error maybe record --user-stacks maybe
usage_error "needs a value" record -o
usage_error operand record operand
usage_error "" record --
usage_error "" record -a -p 1
usage_error "" record -p 1 -t 1
usage_error "" record --cgroup / -a
usage_error .pftrace record --sched -d 1
usage_error .pftrace record --sched -d 1 -o x.folded
[[ $(ls) = $'err\nout' ]] || fail "left behind: $(ls)"
