#!/bin/bash
# Stacks of a statically linked program are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
[[ -x $WORKLOADS/nofp_deep_static ]] || skip "needs a static libc (package libc6-dev) when the tests are built"

expect_deep nofp_deep_static "$WORKLOADS/nofp_deep_static" 2
expect_frame "$TMPDIR/nofp_deep_static.folded" "$(seq -f 'level_%02g' -s ';' 0 65)" 20
