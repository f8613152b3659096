#!/bin/bash
# Where kallsyms shows no addresses, kernel frames are still there, and the summary says why they
# have no names.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
unshare -m true 2>/dev/null || skip "mount namespaces are not permitted here"

sed -E 's/^[0-9a-f]+/0000000000000000/' /proc/kallsyms >"$TMPDIR/kallsyms"
expect_status 0 unshare -m sh -c 'mount --bind "$1" /proc/kallsyms && shift && exec "$@"' - \
    "$TMPDIR/kallsyms" "$STACKWIDE" record -F 499 -o "$TMPDIR/out.folded" \
    -- "$WORKLOADS/syscalls" 1
grep -qF '[kernel]_[k]' "$TMPDIR/out.folded" || fail "$(head -n 5 "$TMPDIR/out.folded")"
expect_between "share of hammer_kernel" "$(folded_share "$TMPDIR/out.folded" hammer_kernel main)" 90 100
grep -Eqi 'kptr_restrict|kallsyms' "$TMPDIR/err" || fail "the summary does not say why: $(cat "$TMPDIR/err")"
