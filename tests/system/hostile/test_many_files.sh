#!/bin/bash
# A user's program that maps more files as code than the recorder may open: programs that others start
# after that are opened all the same, and have whole stacks.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
need_recording
need_command setpriv
LIMIT=1024 # of the recorder's descriptors
NUM_PROGRAMS=20

folder=$(mktemp -d /var/tmp/stackwide-hostile.XXXXXX)
trap 'stop_background; rm -rf "$folder"' EXIT
chmod 755 "$folder"
cp "$WORKLOADS/hostile/map_files" "$folder/attacker"
for ((i = 0; i < LIMIT + 200; i++)); do
    cp --reflink=auto /bin/true "$folder/file$i"
    echo "$i" >>"$folder/file$i"
done
start setpriv --reuid=65534 --regid=65534 --clear-groups "$folder/attacker" 60 "$folder"/file* \
    >"$TMPDIR/mapped"
wait_until test -s "$TMPDIR/mapped"

ulimit -n "$LIMIT"
start_recording -F 499 -a --stats "$TMPDIR/stats.json" -o "$TMPDIR/x.folded"
for ((i = 0; i < NUM_PROGRAMS; i++)); do
    cp "$WORKLOADS/nofp_deep" "$folder/victim$i"
    start setpriv --reuid=12345 --regid=12345 --clear-groups timeout 0.3 "$folder/victim$i" 60
    wait "$PID" || true
done
stop_recording
cat "$TMPDIR/record.err"
unopened=$(stats_get "$TMPDIR/stats.json" processes.unopened_files)
((unopened > 100)) || fail "only $unopened files were not opened: there was no attack"
has_line "mapped files were skipped" <"$TMPDIR/record.err" || fail "there is no warning"
for ((i = 0; i < NUM_PROGRAMS; i++)); do
    expect_between "share of whole, named stacks of victim$i" \
        "$(folded_share "$TMPDIR/x.folded" main "victim$i")" 95 100
done
