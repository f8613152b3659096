#!/bin/bash
# scripts/check-words refuses comments and texts for users that readers have to translate, if they become more frequent.
# runs: beside others
source "$(dirname "$0")/lib.sh"

tree=$TMPDIR/tree
mkdir -p "$tree"/{scripts,bpf,src/base,src/cli/record,include/base}
# 40 plain words, in which a form is 25 in 1,000.
plain='The table holds one row for each function. It is sorted by address. The caller frees the table. A row is valid until
 * the next call. Addresses are relative to the file. Sizes are in bytes. The last row ends the table.'
write() {
    printf '/*\n * %s\n * %s\n */\nint number; /* in bytes */\n' "$plain" "$1" >"$tree/src/base/a.c"
}
refuses() {
    write "$1"
    expect_status 1 "$REPO/scripts/check-words" "$tree"
    [[ $(<"$TMPDIR/out") == "scripts/words.txt:1: room base: "*"\"$2\""* && $(wc -l <"$TMPDIR/out") = 1 ]] ||
        fail "expected a complaint of '$2', got: $(<"$TMPDIR/out")"
}

write ''
"$REPO/scripts/check-words" --write "$tree"
grep -q '^base  *0.0  *0.0  *0.0  *0.0  *0.0  *0.0  *0.0  *0.0$' "$tree/scripts/words.txt" || fail "$(<"$tree/scripts/words.txt")"
expect_status 0 "$REPO/scripts/check-words" "$tree"

refuses 'It counts what is left.' what
refuses 'Of the file, the name.' fragment
refuses 'The size is none.' none
refuses 'The name comes next.' lie
refuses 'It runs from the beginning.' begin
refuses 'The header says so.' say
refuses 'The file of which it is a part.' which
refuses 'A sentence with more words than a reader can hold in mind at once is a sentence that has to be read twice before its meaning becomes clear to anybody at all.' long

# Code and strings do not count, and other rooms have their own rates.
write ''
echo 'const char what[] = "what lies where it begins";' >>"$tree/src/base/a.c"
expect_status 0 "$REPO/scripts/check-words" "$tree"
echo '/* It counts what is left. */' >"$tree/bpf/b.h"
expect_status 1 "$REPO/scripts/check-words" "$tree"
grep -q 'room bpf: ' "$TMPDIR/out" || fail "$(<"$TMPDIR/out")"
"$REPO/scripts/check-words" --write "$tree"
expect_status 0 "$REPO/scripts/check-words" "$tree"

# Texts of the command line are a room: literals of four words and more, also in several pieces.
write_text() {
    printf '/* Texts. */\nlog_error("%s",\n\tname);\n' "$1" >"$tree/src/cli/record/a.c"
}
refuses_text() {
    write_text "$1"
    expect_status 1 "$REPO/scripts/check-words" "$tree"
    [[ $(<"$TMPDIR/out") == "scripts/words.txt:1: room texts: "*"\"$2\""* && $(wc -l <"$TMPDIR/out") = 1 ]] ||
        fail "expected a complaint of '$2', got: $(<"$TMPDIR/out")"
}
write_text 'cannot read %s: %s'
"$REPO/scripts/check-words" --write "$tree"
grep -q '^texts  *0.0  *0.0  *0.0  *0.0  *0.0  *0.0  *0.0  *0.0$' "$tree/scripts/words.txt" || fail "$(<"$tree/scripts/words.txt")"
expect_status 0 "$REPO/scripts/check-words" "$tree"
refuses_text 'the input has what is left' what
refuses_text 'no name: whoever reads it has none of these' none
refuses_text 'the samples that came\nwith it' lie
refuses_text 'stacks of the process begin"\n\t"with this frame' begin
refuses_text 'the input does not say so' say
refuses_text 'the file of which it is a part' which
# What is short is a word of a format, and what is included is a file.
write_text 'what begins'
echo '#include "what/lies/where/it/begins.h"' >>"$tree/src/cli/record/a.c"
expect_status 0 "$REPO/scripts/check-words" "$tree"
