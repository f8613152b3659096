#!/bin/bash
# A recorder in a PID namespace: it sees programs of its namespace and of those below it, and counts ticks of others.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command unshare
unshare -pf --mount-proc true 2>/dev/null || skip "PID namespaces are not permitted here"

for name in outside here deeper; do
    cp "$WORKLOADS/burn" "$TMPDIR/burn_$name"
done
start "$TMPDIR/burn_outside" 600
# shellcheck disable=SC2016 # the inner shell is to expand it
expect_status 0 unshare -pf --mount-proc "$STACKWIDE" record -a -F 999 -o "$TMPDIR/all.folded" --stats "$TMPDIR/all.json" -- \
    sh -c 'unshare -pf unshare -pf "$1/burn_deeper" 0.3; "$1/burn_here" 0.3' - "$TMPDIR"
cat "$TMPDIR/err"
expect_account_adds_up "$TMPDIR/all.json"
for name in here deeper; do
    samples=$(folded_match "$TMPDIR/all.folded" "^burn_$name;.*;main;burn_[0-9]*(;| )")
    echo "$samples samples of burn_$name, which has used 0.3 s"
    ((samples >= 100)) || fail "few samples of burn_$name have whole stacks with names"
done
expect_no_frame "$TMPDIR/all.folded" burn_outside
outside=$(stats_get "$TMPDIR/all.json" outside)
((outside >= 1)) || fail "ticks of what the namespace does not show are not counted"
grep -q "$(printf "%'d" "$outside") not recorded: processes outside" "$TMPDIR/err" ||
    grep -q 'not recorded: processes outside' "$TMPDIR/err" || fail "the summary does not tell of them"

# Waits are those of programs that are deeper, too; by their numbers in the namespace.
# shellcheck disable=SC2016 # the inner shell is to expand it
expect_status 0 unshare -pf --mount-proc "$STACKWIDE" record --off-cpu -F 999 -o "$TMPDIR/command.folded" --metric wall \
    --root pid --stats "$TMPDIR/command.json" -- unshare -pf sh -c '"$1/burn_deeper" 0.2; sleep 0.2' - "$TMPDIR"
expect_account_adds_up "$TMPDIR/command.json"
[[ $(stats_get "$TMPDIR/command.json" outside) = 0 ]] || fail "ticks of others than the target are counted"
(($(folded_match "$TMPDIR/command.folded" '^sleep-[0-9]+;.*\[blocked\] ') >= 100000)) || fail "the wait of sleep is missing"
