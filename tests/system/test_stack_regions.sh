#!/bin/bash
# A thread's stack has the bounds that the thread's C library knows, also if the kernel has joined its mapping
# with other memory: with that of another thread without a guard between them, or with that of the program, which
# has given the thread a part of it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
grep -q ' bpf_find_vma$' /proc/kallsyms || skip "this kernel has no bpf_find_vma(): stack regions are guessed"

# expect_regions PROGRAM KIND NAME KIB [NAME KIB]
expect_regions() {
    local program=$1 kind=$2 trace=$TMPDIR/$2.pftrace start end name kib found
    shift 2
    record -F 499 --sched -o "$trace" -- "$program" "$kind"
    "$STACKWIDE" convert -q "$trace" -o "$TMPDIR/$kind.zones"
    ! grep -a 'guessed from pointers' "$trace" >/dev/null || fail "$kind: a region is guessed"
    while (($#)); do
        name=$1 kib=$2
        shift 2
        found=$(grep -E "^STACK, .*\b$name\b" "$TMPDIR/$kind.zones") || fail "$kind: no region of '$name'"
        [[ $(wc -l <<<"$found") = 1 ]] || fail "$kind: '$name' has several regions: $found"
        IFS=', ' read -r _ start end _ <<<"$found"
        echo "$kind: $name: $(((end - start) >> 10)) KiB"
        (((end - start) >> 10 == kib)) || fail "$kind: the region of '$name' is not of $kib KiB: $found"
    done
}

# expect_all PROGRAM KIB: that much memory has a thread that asks for 1024 KiB.
expect_all() {
    expect_regions "$1" touching first "$2" second "$2"
    expect_regions "$1" upper upper 256
    expect_regions "$1" both upper 256 lower 192
}

expect_all "$WORKLOADS/own_stacks" 1024
expect_regions "$WORKLOADS/own_stacks" heap inner 192
if command -v musl-gcc >/dev/null; then
    musl-gcc -O1 -g -fno-omit-frame-pointer -static -D_GNU_SOURCE -o "$TMPDIR/own_stacks" "$REPO/tests/workloads/own_stacks.c" \
        2>"$TMPDIR/musl.err" || fail "musl: $(cat "$TMPDIR/musl.err")"
    # It adds a page for its own data.
    expect_all "$TMPDIR/own_stacks" 1028
fi
