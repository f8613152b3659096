#!/bin/bash
# No BPF program costs the verifier more than half of the million instructions that it looks at, so
# that one which looks at more of them does not refuse it.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

# A trace with scheduling, and waits with their wakers, need all programs but one small one. Of two with the same name the larger one counts.
record -v -a --sched --off-cpu --wakers -d 200ms -o "$TMPDIR/all.pftrace"
sed -nE 's/^.*\<([a-z_]+): ([0-9]+) instructions verified$/\1 \2/p' "$TMPDIR/record.err" |
    sort -k 2nr | sort -su -k 1,1 | sort -k 2nr >"$TMPDIR/programs"
[[ -s $TMPDIR/programs ]] || fail "no program's instructions are told"
while read -r program instructions; do
    figure "instructions.$program" "$instructions"
    expect_between "instructions verified of $program" "$instructions" 1 500000
done <"$TMPDIR/programs"
