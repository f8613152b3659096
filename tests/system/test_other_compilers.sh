#!/bin/bash
# Programs of other compilers and linked in other ways have their names too.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
command -v gcc >/dev/null || command -v clang >/dev/null || skip "needs gcc or clang"

flags=(-O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE)

# expect_inlined NAME COMPILER FLAG…
expect_inlined() {
    local name=$1
    shift
    "$@" "${flags[@]}" -o "$TMPDIR/$name" "$REPO/tests/workloads/inlined.c" 2>"$TMPDIR/cc.err" || {
        echo "$name: cannot be compiled here, left out"
        return
    }
    record -F 999 -o "$TMPDIR/$name.folded" -- "$TMPDIR/$name" 0.35
    expect_frame "$TMPDIR/$name.folded" main 30
    expect_between "share of the chain in $name" \
        "$(folded_share "$TMPDIR/$name.folded" 'main;outer;middle_i_[i];inner_i_[i]' main)" 90 100
}

for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    expect_inlined "$compiler-pie" "$compiler" -fPIE -pie
    expect_inlined "$compiler-fixed" "$compiler" -fno-pie -no-pie
    expect_inlined "$compiler-static" "$compiler" -static
    expect_inlined "$compiler-dwarf4" "$compiler" -gdwarf-4
    expect_inlined "$compiler-split" "$compiler" -gdwarf-5 -gz
done
