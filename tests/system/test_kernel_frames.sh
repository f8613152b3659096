#!/bin/bash
# Kernel frames stand above the user frames that called them, marked _[k].
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

run() { record -F 999 "$@" -o "$TMPDIR/out.folded" -- "$WORKLOADS/syscalls" 1; }
# Share of stacks that end in a kernel frame, and have hammer_kernel further out.
kernel_share() {
    awk '{ stack = $0; sub(/ [0-9]+$/, "", stack); all += $NF }
        stack ~ /_\[k\]$/ && stack ~ /;hammer_kernel;/ { kernel += $NF }
        END { printf "%.1f\n", all ? 100 * kernel / all : 0 }' "$TMPDIR/out.folded"
}

run
expect_between "share of kernel time" "$(kernel_share)" 80 100
expect_between "share of hammer_kernel" "$(folded_share "$TMPDIR/out.folded" hammer_kernel main)" 90 100
# The read system call and the zero device have these names on every kernel since 4.17.
grep -Eq ';(__x64_|__arm64_)?(sys_read|ksys_read|vfs_read)_\[k\];' "$TMPDIR/out.folded" ||
    fail "no read system call: $(head -n 5 "$TMPDIR/out.folded")"
! grep -Eq ';(\[kernel\]|0x[0-9a-f]+)_\[k\]' "$TMPDIR/out.folded" || fail "unnamed kernel frames"

run --kernel-stacks off
! grep -F '_[k]' "$TMPDIR/out.folded" || fail "kernel frames although they are off"
expect_between "share of hammer_kernel" "$(folded_share "$TMPDIR/out.folded" hammer_kernel main)" 90 100

run --user-stacks none
expect_no_frame "$TMPDIR/out.folded" hammer_kernel
grep -qF '_[k]' "$TMPDIR/out.folded" || fail "no kernel frames"
