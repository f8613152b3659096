#!/bin/bash
# A stack whose outer callers are missing says so with its outermost frame, in every output, and is
# never taken for one that begins there. --no-annotations leaves the frame out.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

# No walk goes 600 frames deep.
record -F 499 --no-inline -o "$TMPDIR/deep.folded" -o "$TMPDIR/deep.svg" -o "$TMPDIR/deep.pb.gz" \
    --stats "$TMPDIR/deep.json" -- "$WORKLOADS/nofp_depth" 1 600
cut=$(stats_get "$TMPDIR/deep.json" user_stacks.truncated)
((cut >= 100)) || fail "only $cut stacks are truncated, expected at least 100"
marked=$(folded_match "$TMPDIR/deep.folded" '^[^;]+;\[truncated\];[^;]+')
((marked == cut)) || fail "$marked stacks say that they are truncated, but $cut are"
roots=$(folded_match "$TMPDIR/deep.folded" '^[^;]+;go_down[; ]')
((roots == 0)) || fail "$roots truncated stacks look as if go_down were where the thread began"
grep -q '<title>\[truncated\] (' "$TMPDIR/deep.svg" || fail "the flame graph does not say [truncated]"

# What is read again says the same, and leaves it out when asked to.
for input in deep.folded deep.svg deep.pb.gz; do
    "$STACKWIDE" convert "$TMPDIR/$input" -o "$TMPDIR/again.folded" || fail "cannot convert $input"
    again=$(folded_match "$TMPDIR/again.folded" '^[^;]+;\[truncated\];[^;]+')
    ((again == cut)) || fail "$again stacks of $input are truncated, expected $cut"
    "$STACKWIDE" convert --no-annotations "$TMPDIR/$input" -o "$TMPDIR/plain.folded" ||
        fail "cannot convert $input"
    ! grep -F '[truncated]' "$TMPDIR/plain.folded" || fail "--no-annotations leaves [truncated] in"
    plain=$(folded_total "$TMPDIR/plain.folded")
    total=$(folded_total "$TMPDIR/deep.folded")
    ((plain == total)) || fail "$plain of $total stacks are left without annotations"
    # But for those that were walked before the mappings were known.
    roots=$(folded_match "$TMPDIR/plain.folded" '^[^;]+;go_down[; ]')
    ((roots * 10 >= cut * 9)) || fail "$roots of $cut truncated stacks begin with their first known frame"
done

# It is nothing that ran.
"$STACKWIDE" report --json "$TMPDIR/deep.folded" >"$TMPDIR/report.json" || fail "cannot report"
python3 - "$TMPDIR/report.json" "$cut" <<'PYTHON' || fail "the report counts [truncated] as something that ran"
import json, sys
report = json.load(open(sys.argv[1]))
found = [f for f in report["functions"] if f["name"] == "[truncated]"]
print(found)
sys.exit(any(f["self"] != 0 or f["total"] != int(sys.argv[2]) for f in found))
PYTHON
