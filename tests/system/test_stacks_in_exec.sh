#!/bin/bash
# In an exec that has taken the old program's memory away there is the kernel's stack and no other:
# such stacks are whole, the summary says what they are, and they do not lower the share.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

# shellcheck disable=SC2016 # for the inner shell
record -F 1999 -o "$TMPDIR/execs.folded" --stats "$TMPDIR/execs.json" -- \
    bash -c 'for ((i = 0; i < 300; i++)); do /bin/true; done'
expect_account_adds_up "$TMPDIR/execs.json"
{ read -r complete && read -r in_exec && read -r truncated; } < <(
    stats_get "$TMPDIR/execs.json" user_stacks.complete user_stacks.in_exec user_stacks.truncated)
echo "$complete complete, $in_exec in an exec, $truncated truncated"
((in_exec >= 10)) || fail "only $in_exec samples are in an exec, expected at least 10"

# They are what begins in the kernel and is the work of an exec; the rest has exited and lost its memory.
bare=$({ grep -E '^[^;]+;[^;]+_\[k\]' "$TMPDIR/execs.folded" || true; } | { grep -v ';do_exit_\[k\]' || true; })
# Of a stack that the kernel could not walk (in one of its thunks, say) there is one frame, which does not tell,
# and what an interrupt did there.
one_frame='^[^;]+;[^;]+(;asm_(sysvec|common|exc)_[^;]+(;[^;]+)*)? [0-9]+$'
short=$({ echo "$bare" | grep -E "$one_frame" || true; } | folded_total /dev/stdin)
total=$(echo "$bare" | folded_total /dev/stdin)
((in_exec <= total && in_exec >= total - short && short <= 5)) ||
    fail "what begins in the kernel ($total) is not what the account has in an exec ($in_exec): $bare"
! echo "$bare" | grep -vE "execve|$one_frame" || fail "stacks that begin in the kernel are of no exec"

share=$(awk -v whole=$((complete + in_exec)) -v cut="$truncated" \
    'BEGIN { printf "%.1f", 100 * whole / (whole + cut) }')
grep -F "complete ($share%)" "$TMPDIR/record.err" || fail "the summary does not say $share %"
tr -d , <"$TMPDIR/record.err" | has_line -E "^ +$in_exec of them inside an exec: kernel part only" ||
    fail "the summary does not say that $in_exec are in an exec"
