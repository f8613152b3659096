#!/bin/bash
# scripts/check-commits refuses subjects that are no order to the code, and commits that nobody can review.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_command git

tree=$TMPDIR/tree
mkdir -p "$tree/scripts" "$tree/src/base"
cp "$REPO/scripts/check-commits" "$tree/scripts/"
in_tree() { git -C "$tree" -c user.name=a -c user.email=a@b "$@"; }
commit() {
    in_tree add -A
    in_tree commit -q --allow-empty -m "$1"
}
accepts() {
    commit "$1"
    expect_status 0 "$tree/scripts/check-commits"
    [[ ! -s $TMPDIR/out ]] || fail "accepted, but said: $(<"$TMPDIR/out")"
}
refuses() {
    commit "$1"
    expect_status 1 "$tree/scripts/check-commits"
    [[ $(<"$TMPDIR/out") == *"$2"* && $(wc -l <"$TMPDIR/out") = 1 ]] || fail "expected '…$2…', got: $(<"$TMPDIR/out")"
    in_tree reset -q --hard HEAD~1
}

# Without history, and of what was before the script, nothing is said.
expect_status 0 "$tree/scripts/check-commits"
in_tree init -q
in_tree commit -q --allow-empty -m 'Whatever was before'
accepts 'scripts: check commits'

accepts 'symbolize: find debug files by build ID'
accepts 'README: name the formats'
accepts 'formats/perfetto: read tracks'
refuses 'Find debug files by build ID' 'the subject is "room: verb ..."'
refuses 'symbolize: Find debug files' 'the subject is "room: verb ..."'
refuses 'symbolize: what has no name is skipped' '"what" is none'
refuses 'symbolize: the name is skipped' '"the" is none'
refuses 'symbolize: finding of debug files' '"finding" is none'
refuses 'symbolize: find debug files by build ID, also those of programs that have ended' 'characters, at most 65'

mkdir -p "$tree/src/base"
seq 3001 | sed 's/.*/int a&;/' >"$tree/src/base/a.c"
refuses 'base: add numbers' 'has 3001 lines of new code'
mkdir -p "$tree/src/base"
seq 3000 | sed 's/.*/int a&;/' >"$tree/src/base/a.c"
accepts 'base: add numbers'
in_tree mv src/base/a.c src/base/b.c
accepts 'base: move numbers'
