#!/bin/bash
# --faults: page faults are counted, each once. The kernel does not tell how much memory each maps: a page, a huge page, or
# several pages of a file.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# expect_each_fault [FILE]: as many as the kernel counts of the program while it touches its pages.
expect_each_fault() {
    local faults truth
    record --faults -c 1 --buffer-size 64M -o "$TMPDIR/faults.folded" --stats "$TMPDIR/faults.json" -- \
        "$WORKLOADS/nofp_touch" "$@" >"$TMPDIR/truth"
    grep -qF '"name": "page-faults", "unit": "count"' "$TMPDIR/faults.json" || fail "the metric: $(cat "$TMPDIR/faults.json")"
    truth=$(cat "$TMPDIR/truth")
    faults=$(folded_match "$TMPDIR/faults.folded" ';main;touch_pages(;[^;]*_\[k\])* [0-9]+$')
    echo "$faults page faults, the kernel counted $truth"
    ((truth > 0 && faults == truth)) || fail "$faults page faults, not $truth"
}

# Huge pages of 2 MiB.
expect_each_fault
# A fault maps the pages of a file around it.
head -c 4M /dev/zero >"$TMPDIR/file"
expect_each_fault "$TMPDIR/file"
