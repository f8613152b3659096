#!/bin/bash
# New threads that find no room in the filter are counted, and the summary tells of them.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/bpf_maps.sh"
need_recording

mkfifo "$TMPDIR/go"
# shellcheck disable=SC2016 # expanded by that shell
start bash -c 'read -r _ <"$1"; for _ in 1 2 3 4 5 6 7; do (:); done' - "$TMPDIR/go"
record_waiting "$PID" -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
find_map target_tids
# More threads than there is room for, with tids that no thread can have.
awk -v map="$MAP" 'BEGIN {
    for (i = 0; i < 65536; i++)
        print "map update id", map, "key", i % 256, int(i / 256), 0, 64, 0, 0, 0, 0, "value 1 0 0 0"
}' >"$TMPDIR/updates"
! run_bpftool batch file "$TMPDIR/updates" >"$TMPDIR/bpftool" 2>&1 ||
    fail "the filter has room for more than 65536 threads"
tail -n 3 "$TMPDIR/bpftool"
echo >"$TMPDIR/go"
end_recording

unfollowed=$(stats_get "$TMPDIR/stats.json" unfollowed_threads)
((unfollowed >= 7)) || fail "$unfollowed threads were not followed, expected 7"
expect_account_adds_up "$TMPDIR/stats.json"
grep -q "$unfollowed new threads were not sampled: too many threads to follow" "$TMPDIR/record.err" ||
    fail "the summary does not tell of them"
