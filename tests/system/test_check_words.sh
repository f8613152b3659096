#!/bin/bash
# scripts/check-words refuses comments that readers have to translate, if they become more frequent.
# runs: beside others
source "$(dirname "$0")/lib.sh"

tree=$TMPDIR/tree
mkdir -p "$tree"/{scripts,bpf,src/base,include/base}
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
