#!/bin/bash
# C++ names are demangled, without parameter lists: templates, namespaces, lambdas.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -x $WORKLOADS/cpp ]] || skip "needs a C++ compiler (package g++) when the tests are built"

record -F 1499 --no-annotations -o "$TMPDIR/out.folded" -- "$WORKLOADS/cpp" 0.7
for type in int double; do
    expect_share "$TMPDIR/out.folded" "main;shop::checkout::Cart<$type>::total" main 33.3 1049
done
grep -Eq ';with_lambda;([^;]*apply<[^;]*;)?[^;]*with_lambda\(int\)::\{lambda\(int\)#1\}' \
    "$TMPDIR/out.folded" || fail "no lambda: $(grep lambda "$TMPDIR/out.folded" | head -n 3)"
! grep -E '_Z[NL0-9]' "$TMPDIR/out.folded" || fail "mangled names"
