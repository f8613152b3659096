#!/bin/bash
# -o and --to: several outputs, formats by extension and by name, standard output, made-up names.
source "$(dirname "$0")/lib.sh"
need_recording

start "$WORKLOADS/burn" 60
program=$PID
cd "$TMPDIR"

# One recording, three outputs of it; --to belongs to the next -o.
"$STACKWIDE" record -q -p "$program" -F 499 -d 1 -o a.folded --to folded -o b.data -o c.txt \
    >stdout || fail "status $?"
cmp a.folded b.data || fail "two folded outputs of one recording differ"
[[ ! -s stdout ]] || fail "wrote to standard output"
grep -q burn_60 c.txt || fail "no burn_60 in the table: $(cat c.txt)"
! grep -q ';' c.txt || fail "the table holds stacks"
awk '!/^[^ ].* [1-9][0-9]*$/ { exit 1 }' a.folded || fail "not folded: $(head -n 3 a.folded)"
LC_ALL=C sort -c <(sed -E 's/ [0-9]+$//' a.folded) || fail "stacks are not sorted"
[[ -z $(sed -E 's/ [0-9]+$//' a.folded | uniq -d) ]] || fail "stacks are not unique"

# Standard output, with --to after the last -o.
"$STACKWIDE" record -q -p "$program" -F 499 -d 1 -o - --to folded >stdout || fail "status $?"
expect_frame stdout burn_60 50
"$STACKWIDE" record -q -p "$program" -F 499 -d 1 --to text -o - >stdout || fail "status $?"
grep -q burn_60 stdout || fail "no table on standard output"

# A name of its own, told at the end.
rm -f -- *
"$STACKWIDE" record -p "$program" -d 1 2>err || fail "status $?"
extension=html
if [[ ! -s $(dirname "$STACKWIDE")/viewer.html ]]; then
    extension=svg
    grep -q 'without its viewer' err || fail "no word of the missing viewer: $(cat err)"
fi
name=$(ls ./stackwide-*)
[[ $name =~ ^\./stackwide-$(uname -n)-[0-9]{8}T[0-9]{6}\.$extension$ ]] || fail "the name is $name"
grep -qF "${name#./}" err || fail "the name is not told: $(cat err)"
"$STACKWIDE" convert "$name" -o - --to folded | grep -q burn_60 || fail "it cannot be read back"

# An old file is replaced, and nothing else is left beside it.
rm -f -- *
echo "old 1" >a.folded
"$STACKWIDE" record -q -p "$program" -F 499 -d 1 -o a.folded || fail "status $?"
! grep -q old a.folded || fail "the old file is still there"
[[ $(ls -A) = a.folded ]] || fail "left behind: $(ls -A)"
