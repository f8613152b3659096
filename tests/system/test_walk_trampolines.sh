#!/bin/bash
# CPython's trampolines (-X perf) lie between frames that keep no frame pointer: a rule of their own
# makes the stacks whole, wherever they lie in their memory.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

# Code that looks the same is none in other programs.
cp "$WORKLOADS/nofp_trampolines" "$TMPDIR/python3.99"
for distance in 11 16; do
    folded=$TMPDIR/$distance.folded
    record -F 499 --root none -o "$folded" --stats "$TMPDIR/$distance.json" -- "$TMPDIR/python3.99" 1 "$distance"
    complete=$(stats_get "$TMPDIR/$distance.json" user_stacks.complete)
    samples=$(stats_get "$TMPDIR/$distance.json" samples)
    echo "$distance bytes apart: $complete of $samples complete"
    ((samples > 300 && complete >= samples - 5)) || fail "stacks are not whole"
    whole=$(folded_match "$folded" ";main;evaluate(;\\[anon\\];evaluate){4}[; ]")
    ((whole >= samples * 9 / 10)) || fail "$whole stacks lead through all four trampolines"
done
