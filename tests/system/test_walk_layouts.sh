#!/bin/bash
# Stacks are whole however the linker has laid out the segments.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command cc
need_command readelf

# expect_layout NAME LINKER-OPTION…
expect_layout() {
    local name=$1
    shift
    cc -std=gnu17 -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE "$@" \
        -o "$TMPDIR/$name" "$REPO/tests/workloads/nofp_deep.c"
    readelf -lW "$TMPDIR/$name" | grep ' LOAD .* E '
    expect_deep "$name" "$TMPDIR/$name" 0.4
    expect_frame "$TMPDIR/$name.folded" "$(seq -f 'level_%02g' -s ';' 0 65)" 20
}

expect_layout one_segment -Wl,-z,noseparate-code
expect_layout fixed -no-pie -Wl,-Ttext-segment=0x10000000
expect_layout fixed_one_segment -no-pie -Wl,-z,noseparate-code -Wl,-Ttext-segment=0x7000000
expect_layout large_pages -Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code
