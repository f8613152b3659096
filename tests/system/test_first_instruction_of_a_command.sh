#!/bin/bash
# A command is recorded from its first instruction on, and our own work before it is not.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

record -F 4999 -o "$TMPDIR/short.folded" -- "$WORKLOADS/short_lived"
expect_frame "$TMPDIR/short.folded" short_lived_burn 70
expect_near "share of the command" "$(folded_share "$TMPDIR/short.folded" short_lived)" 100 0
