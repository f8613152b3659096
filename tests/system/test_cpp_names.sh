#!/bin/bash
# C++ names are demangled, without parameter lists: templates, namespaces, lambdas.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -x $WORKLOADS/cpp ]] || skip "needs a C++ compiler (package g++) when the tests are built"

record -F 499 --no-annotations -o "$TMPDIR/out.folded" -- "$WORKLOADS/cpp" 2
expect_near "share of Cart<int>" \
    "$(folded_share "$TMPDIR/out.folded" 'main;shop::checkout::Cart<int>::total' cpp)" 33 6
expect_near "share of Cart<double>" \
    "$(folded_share "$TMPDIR/out.folded" 'main;shop::checkout::Cart<double>::total' cpp)" 33 6
grep -Eq ';with_lambda;([^;]*apply<[^;]*;)?[^;]*with_lambda\(int\)::\{lambda\(int\)#1\}' \
    "$TMPDIR/out.folded" || fail "no lambda: $(grep lambda "$TMPDIR/out.folded" | head -n 3)"
! grep -E '_Z[NL0-9]' "$TMPDIR/out.folded" || fail "mangled names"
