#!/bin/bash
# -d: 1, 1s, 500ms, 0.02m; anything else is a usage error.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# expect_duration TEXT SECONDS
expect_duration() {
    record -d "$1" -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
    expect_between "duration of '$1' in ns" "$(stats_get "$TMPDIR/stats.json" duration_ns)" \
        "$(awk -v s="$2" 'BEGIN { print s * 1e9 - 20e6 }')" \
        "$(awk -v s="$2" 'BEGIN { print s * 1e9 + 5e9 }')"
}

expect_duration 1 1
expect_duration 1s 1
expect_duration 500ms 0.5
expect_duration 0.02m 1.2
