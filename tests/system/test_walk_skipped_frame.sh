#!/bin/bash
# Assembly without call-frame information leaves the frame pointer to its caller. Where the call before a
# return address shows that following it has skipped that caller, the stack is cut and counted as cut.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

# Samples that each of the eight functions is to have: half of what is due.
EACH=125
folded=$TMPDIR/asm_frames.folded stats=$TMPDIR/asm_frames.json

record -F "$FREQUENCY" --no-inline -o "$folded" -o "$TMPDIR/asm_frames.pftrace" --stats "$stats" -- \
    "$WORKLOADS/asm_frames" 1
expect_account_adds_up "$stats"
sed -n '/user stacks/,/frames/p' "$TMPDIR/record.err"
beginning=$(way_to_main asm_frames)
skipped=$(stats_get "$stats" user_stacks.truncated.skipped_frame)
unproven=$(stats_get "$stats" user_stacks.unproven)

# What has a caller of its own has it, or begins nowhere.
for function in large small leaf stale framed; do
    whole=$(folded_match "$folded" "$beginning;call_[a-z_]+;asm_${function}[; ]")
    lacking=$(folded_match "$folded" "$beginning;asm_${function}[; ]")
    cut=$(folded_match "$folded" "^asm_frames;\\[truncated\\];asm_${function}[; ]")
    echo "asm_$function: $whole whole, $lacking without its caller, $cut cut"
    case $function in
    large) # called by two, and what called one of these tells nothing
        ((lacking <= unproven)) || fail "$lacking stacks lack a caller, but only $unproven are unproven"
        ((cut >= EACH && skipped >= cut)) || fail "$cut stacks are cut, $skipped counted as such"
        large=$cut
        ;;
    small)
        ((lacking == 0)) || fail "$lacking stacks lack call_small"
        ((skipped <= large + cut)) || fail "$skipped stacks are counted as cut, too many"
        ;;
    *)
        ((lacking == 0 && whole >= EACH)) || fail "stacks of asm_$function are not whole"
        ;;
    esac
done

# What looks like a return address in a frame leads nowhere.
expect_no_frame "$folded" "asm_large;asm_stale"

# Frame pointers that lead to the caller, by a direct call, a tail call and an indirect one.
for caller in call_framed call_tail call_framed_by_address; do
    expect_every_stack "$folded" ";$caller;asm_framed[; ]" "$beginning;$caller;asm_framed[; ]"
    whole=$(folded_match "$folded" "$beginning;$caller;asm_framed[; ]")
    ((whole >= EACH)) || fail "only $whole whole stacks lead through $caller"
done
# asm_framed has rules of its own: its code is followed.
lacking=$(folded_match "$folded" "$beginning;asm_large[; ]")
((unproven >= lacking && unproven <= lacking + 2)) ||
    fail "$unproven stacks are unproven, expected those behind an indirect call: $lacking"

# Both are said wherever stacks are counted.
grep -q "end where a frame pointer skips a caller" "$TMPDIR/record.err" || fail "the summary does not say it"
grep -q "of them may lack a caller" "$TMPDIR/record.err" || fail "the summary does not say what is unproven"
"$STACKWIDE" convert -o "$TMPDIR/trace.pb.gz" "$TMPDIR/asm_frames.pftrace"
gzip -cd "$TMPDIR/trace.pb.gz" | has_line -a "truncated_stacks=$(count_cut "$stats")" ||
    fail "not $(count_cut "$stats") stacks are marked as cut in the trace"

# The same of a recording of perf, if it is here: its stacks are walked when it is read.
command -v perf >/dev/null || exit 0
perf record -F 999 --call-graph dwarf,4096 -e cpu-clock -o "$TMPDIR/perf.data" -- "$WORKLOADS/asm_frames" 1 \
    >/dev/null 2>&1 || true
[[ -s $TMPDIR/perf.data ]] || exit 0
"$STACKWIDE" convert -q -o "$TMPDIR/perf.folded" "$TMPDIR/perf.data"
lacking=$(folded_match "$TMPDIR/perf.folded" "$beginning;asm_large[; ]")
cut=$(folded_match "$TMPDIR/perf.folded" "^asm_frames;(\\[truncated\\];)?asm_large[; ]")
echo "perf.data: asm_large is in $lacking ns without its caller, in $cut ns cut"
((cut > 0 && lacking * 2 < cut * 3)) || fail "stacks of perf.data lack a caller"
