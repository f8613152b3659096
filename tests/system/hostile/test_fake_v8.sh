#!/bin/bash
# A program that claims to be V8, and whose functions have names or sources that go in circles, lie nowhere, are endless or change all
# the time, is recorded like any other: what can be read is shown, and nothing hangs.
# runs: beside others
. "$(dirname "$0")/../lib.sh"
need_recording
[[ $(uname -m) = x86_64 ]] || skip "its code is that of x86-64"

# expect_of KIND FRAMES: stacks of that kind are these
expect_of() {
    record -F 999 -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- "$WORKLOADS/hostile/fake_v8" "$1" 0.5
    expect_account_adds_up "$TMPDIR/$1.json"
    local matching total
    matching=$(folded_match "$TMPDIR/$1.folded" "$2")
    total=$(folded_total "$TMPDIR/$1.folded")
    echo "$1: $matching of $total"
    # The samples of the first 0.1 s may come before it is known to be one.
    ((total >= 200 && matching >= total - 100)) || fail "of $1 $matching of $total: $(cat "$TMPDIR/$1.folded" "$TMPDIR/record.err")"
}
expect_of honest ';main;evil '
record -F 499 -o "$TMPDIR/lines.speedscope.json" -- "$WORKLOADS/hostile/fake_v8" honest 0.5
grep -q '"name":"evil","file":"evil.js","line":4[,}]' "$TMPDIR/lines.speedscope.json" ||
    fail "no line: $(grep -o '[^{]*"evil"[^}]*' "$TMPDIR/lines.speedscope.json")"
for kind in endless slices unmapped changing; do
    expect_of "$kind" ';main;evil '
done
expect_of circle ';main;\[unknown\] '
expect_of thin ';main;\[unknown\] '
expect_of long ';main;e{32,}… '
expect_of external ';main;\[unknown\] '
expect_of nowhere ';main;\[anon\]'
