#!/bin/bash
# On a terminal tables fit its width and have colour, unless NO_COLOR is set; elsewhere neither.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_command script

cd "$TMPDIR"
long=$(printf 'name%.0s' {1..60})
echo "main;$long;short 4" >in.folded

# on_terminal COLUMNS COMMAND…: what the command prints on a terminal of that width
on_terminal() {
    local columns=$1
    shift
    TERM=xterm script -qec "stty cols $columns; $*" /dev/null </dev/null | tr -d '\r'
}
longest() { sed 's/\x1b\[[0-9;]*m//g; s/…/./g' | awk '{ if (length($0) > n) n = length($0) } END { print n }'; }

for command in "report in.folded" "report in.folded --callees main" "diff in.folded in.folded"; do
    on_terminal 100 "$STACKWIDE $command" >wide
    [[ $(longest <wide) -le 100 ]] || fail "$command is wider than the terminal: $(<wide)"
    grep -q $'\x1b\[1m' wide || fail "$command has no colour on a terminal: $(<wide)"
    on_terminal 100 "NO_COLOR=1 $STACKWIDE $command" >plain
    ! grep -q $'\x1b' plain || fail "$command has colour in spite of NO_COLOR: $(<plain)"
    # shellcheck disable=SC2086 # words are meant
    "$STACKWIDE" $command >piped
    ! grep -q $'\x1b' piped || fail "$command has colour in a pipe: $(<piped)"
    grep -q "$long" piped || fail "$command truncates names in a pipe: $(<piped)"
done

# Words are wrapped; the fix of doctor alone, a command to be copied, stays in one line.
on_terminal 80 "$STACKWIDE events 's*'" >events
[[ $(grep -c . events) -gt 3 && $(longest <events) -le 80 ]] || fail "events is wider than the terminal: $(<events)"
"$STACKWIDE" events 's*' >piped
[[ $(grep -c . piped) -lt $(grep -c . events) ]] || fail "events wraps lines in a pipe: $(<piped)"
