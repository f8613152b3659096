#!/bin/bash
# A program that claims to be CPython, and whose frames go in circles, lie nowhere or have endless names, is recorded like
# any other: its native stack is whole or says that it is not, and nothing hangs.
# runs: beside others
. "$(dirname "$0")/../lib.sh"
need_recording

# expect_of KIND FRAMES: stacks of that kind are these
expect_of() {
    record -F 999 -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- "$WORKLOADS/hostile/fake_python" "$1" 0.5
    expect_account_adds_up "$TMPDIR/$1.json"
    local matching total
    matching=$(folded_match "$TMPDIR/$1.folded" "$2")
    total=$(folded_total "$TMPDIR/$1.folded")
    echo "$1: $matching of $total"
    # The samples of the first 0.1 s may come before it is known to be one.
    ((total >= 200 && matching >= total - 100)) || fail "of $1 $matching of $total: $(cat "$TMPDIR/$1.folded" "$TMPDIR/record.err")"
}
expect_of circle ';main;_PyEval_EvalFrameDefault'
expect_of deep ';\[truncated\](;evil){512}[ ;]'
expect_of threads ';main;_PyEval_EvalFrameDefault'
expect_of nowhere ';main;_PyEval_EvalFrameDefault'
expect_of long ';[^;]*evil[^;]*( |;)'
