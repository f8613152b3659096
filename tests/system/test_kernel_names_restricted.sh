#!/bin/bash
# Where kallsyms shows no addresses, kernel frames are still there, and the summary says why they
# have no names. Who ends waits has no user stack then, and the summary says that, too.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"

sed -E 's/^[0-9a-f]+/0000000000000000/' /proc/kallsyms >"$TMPDIR/kallsyms"
# record_restricted ARGUMENT…
record_restricted() {
    expect_status 0 unshare -m sh -c 'mount --bind "$1" /proc/kallsyms && shift && exec "$@"' - \
        "$TMPDIR/kallsyms" "$STACKWIDE" record "$@"
}
record_restricted -F 499 -o "$TMPDIR/out.folded" -- "$WORKLOADS/syscalls" 1
grep -qF '[kernel]_[k]' "$TMPDIR/out.folded" || fail "$(head -n 5 "$TMPDIR/out.folded")"
expect_between "share of hammer_kernel" "$(folded_share "$TMPDIR/out.folded" hammer_kernel main)" 90 100
grep -Eqi 'kptr_restrict|kallsyms' "$TMPDIR/err" || fail "the summary does not say why: $(cat "$TMPDIR/err")"

record_restricted --off-cpu --wakers --period 1ms --buffer-size 64M -o "$TMPDIR/out.offwake.folded" \
    --stats "$TMPDIR/stats.json" -- "$WORKLOADS/nofp_waits" 0.5
stats_get "$TMPDIR/stats.json" off_cpu.wakers.known off_cpu.wakers.user_stacks.left_out \
    off_cpu.wakers.user_stacks.complete >"$TMPDIR/values"
{ read -r known && read -r left_out && read -r complete; } <"$TMPDIR/values"
((known > 0 && left_out > 0 && complete == 0)) ||
    fail "of $known wakers $left_out user stacks are left out, $complete are complete"
wrong=$(folded_match "$TMPDIR/out.offwake.folded" ';--;(.*;)?(wake_others|hold_lock);')
((wrong == 0)) || fail "wakers have user stacks: $(grep -Em 1 ';--;.*(wake_others|hold_lock)' "$TMPDIR/out.offwake.folded")"
grep -A 1 ' user stacks of wakers dropped' "$TMPDIR/err" | has_line 'run with CAP_SYSLOG' ||
    fail "the summary does not say why: $(cat "$TMPDIR/err")"
