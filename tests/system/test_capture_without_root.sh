#!/bin/bash
# The service runs without root, with the capabilities that its unit names and no others: that is
# enough for a capture with kernel functions and other users' programs in it.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_recording
need_command setpriv

unit=$REPO/packaging/systemd/stackwide-capture.service
named=$(sed -n 's/^AmbientCapabilities=//p' "$unit")
[[ -n $named && $named = "$(sed -n 's/^CapabilityBoundingSet=//p' "$unit")" ]] ||
    fail "the unit's ambient and bounding sets differ"
set=-all
for capability in $named; do
    name=${capability#CAP_}
    setpriv --list-caps | has_line -ix "$name" || skip "setpriv does not know $capability"
    set+=,+${name,,}
done

given=$(sed -n 's/^StandardInput=file://p' "$unit")
exec 9<"$STACKWIDE"
mkdir "$TMPDIR/archive"
chown 65534:65534 "$TMPDIR/archive"
cp "$WORKLOADS/inlined" "$TMPDIR/inlined_others"
start "$TMPDIR/inlined_others" 600
expect_status 0 setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
    --bounding-set="$set" --inh-caps="$set" --ambient-caps="$set" \
    /proc/self/fd/9 capture --dir "$TMPDIR/archive" -d 1s -F 499 --min-free 0 --user-stacks table \
    <"$given"
file=$(find "$TMPDIR/archive" -name '*.pb.gz')
[[ $(stat -c %u "$file") = 65534 ]] || fail "the capture belongs to somebody else"
"$STACKWIDE" convert "$file" -o "$TMPDIR/out.folded"
grep -q '^inlined_others;.*main' "$TMPDIR/out.folded" || fail "another user's program has no names"
! grep -q '\[kernel\]' "$TMPDIR/out.folded" || fail "kernel functions have no names"
# Of its stacks alone: how many of the machine's are whole depends on what else runs there.
expect_between "share of whole stacks" "$(folded_share "$TMPDIR/out.folded" 'inlined_others;_start' inlined_others)" 90 100
whole=$("$STACKWIDE" history --dir "$TMPDIR/archive" --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["captures"][0]["complete"])')
expect_between "the archive's share of whole stacks" "$whole" 0.01 1
[[ $(stat -c %u "$TMPDIR/archive/.stackwide.index") = 65534 ]] || fail "the index belongs to somebody else"
[[ $("$STACKWIDE" history -v --dir "$TMPDIR/archive" 2>&1 >/dev/null | grep -c ' records, ') = 0 ]] ||
    fail "history reads what the service has put into the index"
