#!/bin/bash
# Processes that are gone after 20 ms are named like all others.
source "$(dirname "$0")/lib.sh"
need_recording

start_recording -F 999 -o "$TMPDIR/all.folded"
runs=$("$WORKLOADS/spawn" 3 "$WORKLOADS/short_lived")
stop_recording

samples=$(folded_count "$TMPDIR/all.folded" short_lived_burn)
echo "$runs runs, $samples samples in short_lived_burn"
expect_between "samples per run" "$((samples / runs))" 14 24
expect_between "share of short_lived_burn" \
    "$(folded_share "$TMPDIR/all.folded" short_lived_burn short_lived)" 80 100
