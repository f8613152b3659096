#!/bin/bash
# Code made in memory is named from the process's perf-map, marked _[j]: also when the memory is a memfd that is
# mapped twice; when the map comes late, grows, lies in the /tmp and bears the pid of a container; not when it belongs to somebody else.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
source "$(dirname "$0")/own_tmp.sh"

cp "$WORKLOADS/jit" "$own_tmp"
cp "$WORKLOADS/jit" "$own_tmp/jit_contained"
status=0
"${in_own_tmp[@]}" ./jit 0.1 || status=$?
((status != 77)) || skip "the workload has no code for this machine"
((status == 0)) || fail "the workload ended with status $status"

expect_names() {
    for name in first second; do
        expect_share "$TMPDIR/out.folded" "main;run_code;jit_${name}_[j]" "main;run_code" 50 999
    done
}

record -F 999 -o "$TMPDIR/out.folded" -- "${in_own_tmp[@]}" ./jit 1
expect_names "a command"

# The code ran before it was named; its stacks are the same ones afterwards.
record -F 999 -o "$TMPDIR/out.folded" -- "${in_own_tmp[@]}" ./jit 1 0.4
expect_names "a late map"

# Somebody else's map would name things as they like; root's own is trusted.
record -F 999 -o "$TMPDIR/out.folded" -- "${in_own_tmp[@]}" ./jit 1 0 65534
! grep -F 'jit_first' "$TMPDIR/out.folded" || fail "took a map that belongs to another user"
expect_frame "$TMPDIR/out.folded" "run_code;[anon]" 30
expect_frame "$TMPDIR/out.folded" "run_code;[memfd:doublemapper]" 30

unshare -p -f true 2>/dev/null || skip "the rest needs pid namespaces, which are not permitted here"
start_recording -F 999 -o "$TMPDIR/out.folded"
unshare -p -f "${in_own_tmp[@]}" ./jit_contained 1 || fail "the workload failed"
stop_recording
grep '^jit_contained;' "$TMPDIR/out.folded" >"$TMPDIR/contained.folded"
mv "$TMPDIR/contained.folded" "$TMPDIR/out.folded"
expect_names "a container"
