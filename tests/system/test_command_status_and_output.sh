#!/bin/bash
# -- COMMAND: its exit status is ours, its input and output are untouched.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

recorded() { "$STACKWIDE" record -q -o "$TMPDIR/out.folded" -- "$@"; }

is_brief || expect_status 0 recorded true
expect_status 3 recorded sh -c 'exit 3'
is_brief || expect_status 143 recorded sh -c 'kill -TERM $$'
expect_status 137 recorded sh -c 'kill -KILL $$'

expect_status 0 recorded printf 'one\n two\n'
[[ $(cat "$TMPDIR/out") = $'one\n two' ]] || fail "output is '$(cat "$TMPDIR/out")'"
[[ ! -s $TMPDIR/err ]] || fail "quiet, but said: $(cat "$TMPDIR/err")"
[[ $(echo hello | recorded cat) = hello ]] || fail "input does not reach the command"

# Its options are not ours, and a name is looked up in PATH.
if ! is_brief; then
    expect_status 0 recorded echo -d 5 --to nowhere
    [[ $(cat "$TMPDIR/out") = '-d 5 --to nowhere' ]] || fail "output is '$(cat "$TMPDIR/out")'"
fi

rm -f "$TMPDIR/out.folded"
all_missing=("$TMPDIR/missing" stackwide-no-such-command "$TMPDIR")
! is_brief || all_missing=("$TMPDIR/missing")
for missing in "${all_missing[@]}"; do
    expect_status 1 recorded "$missing"
    grep -qF "$missing" "$TMPDIR/err" || fail "does not name $missing: $(cat "$TMPDIR/err")"
    [[ ! -e $TMPDIR/out.folded ]] || fail "wrote an output for a missing command"
done
