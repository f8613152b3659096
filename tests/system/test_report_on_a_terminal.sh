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

# Of two functions with one name the module says which is which, whether it has a column or not.
sample() { printf 'a 1/1 1.5: 1 cycles:\n\t1 leaf+0x1 (/bin/%s)\n\n' "$1"; }
{ sample application-one && sample b; } >first.txt
{ sample application-two && sample b; } >second.txt
for columns in 80 100 120; do
    on_terminal $columns "$STACKWIDE diff first.txt second.txt --exact-names" >table
    [[ $(longest <table) -le $columns ]] || fail "diff is wider than $columns columns: $(<table)"
    for module in application-one application-two b; do
        has_line "leaf *(\?$module)\?" <table || fail "$module is not in the table of $columns columns: $(<table)"
    done
done

mkdir -p archive/2026/11/21
cp in.folded archive/2026/11/21/030000Z-web.folded
for columns in 80 120; do
    for command in "history --dir archive" "help formats"; do
        on_terminal $columns "$STACKWIDE $command" >table
        [[ $(longest <table) -le $columns ]] || fail "$command is wider than $columns columns: $(<table)"
    done
done
