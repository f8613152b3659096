#!/bin/bash
# A forked child's user stacks are walked by its parent's tables from its first tick on: the sampling
# programs see to it. Here user space does nothing while the child lives.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/bpf_maps.sh"
need_recording

mkfifo "$TMPDIR/go"
# shellcheck disable=SC2016 # expanded by that shell
start bash -c 'read -r _ <"$1"; (for ((i = 0; i < 400000; i++)); do :; done); :' - "$TMPDIR/go"
parent=$PID
record_waiting "$parent" -F 999 -o "$TMPDIR/out.folded" --stats "$TMPDIR/stats.json"
awk '$2 ~ /x/ && $6 ~ /^\// { print $6 }' "/proc/$parent/maps" | sort -u >"$TMPDIR/files"
while read -r file; do
    wait_until grep -qF "the unwind table of $file is ready" "$TMPDIR/record.err"
done <"$TMPDIR/files"
kill -STOP "$RECORDER"
echo >"$TMPDIR/go"
wait "$parent"
kill -CONT "$RECORDER"
end_recording

{ read -r samples && read -r complete && read -r recovered; } < <(
    stats_get "$TMPDIR/stats.json" samples user_stacks.complete user_stacks.recovered)
echo "$samples samples, $complete complete, $recovered of these recovered"
((samples >= 10)) || fail "only $samples samples"
(((complete - recovered) * 10 >= samples * 9)) ||
    fail "only $((complete - recovered)) of $samples stacks were walked at once"
