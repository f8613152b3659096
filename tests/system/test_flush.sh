#!/bin/bash
# --flush writes numbered files and accounts, loses nothing in between, writes nothing when nothing
# ran, and keeps no memory from one file to the next.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

cat >"$TMPDIR/load.sh" <<'LOAD'
while [[ ! -e $1 ]]; do
    perl -e '$x += $_ for 1 .. 2000000' &
    wait
done
LOAD

# Memory in use, in KB, every half second.
watch_memory() {
    while [[ -e /proc/$1/status ]]; do
        sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status" 2>/dev/null || true
        sleep 0.5
    done
}

started=$SECONDS
start "$STACKWIDE" record -F 499 --flush 1s -o "$TMPDIR/load.folded" --stats "$TMPDIR/load.json" -- \
    bash "$TMPDIR/load.sh" "$TMPDIR/load.4.json" 2>"$TMPDIR/record.err"
RECORDER=$PID
watch_memory "$RECORDER" >"$TMPDIR/memory" &
end_recording

count=$(find "$TMPDIR" -name 'load.*.folded' | wc -l)
expect_between "number of files" "$count" 4 $((SECONDS - started + 1))
[[ ! -e $TMPDIR/load.folded ]] || fail "there is a file without number"
sum=0 perl=0
for ((i = 1; i <= count; i++)); do
    expect_account_adds_up "$TMPDIR/load.$i.json"
    samples=$(stats_get "$TMPDIR/load.$i.json" samples)
    ((samples == $(folded_total "$TMPDIR/load.$i.folded"))) ||
        fail "file $i and its account differ"
    sum=$((sum + samples))
    # What the command starts is followed from one file to the next.
    ((i == count)) || expect_frame "$TMPDIR/load.$i.folded" perl
done
duration_ns=0
for ((i = 1; i <= count; i++)); do
    duration_ns=$((duration_ns + $(stats_get "$TMPDIR/load.$i.json" duration_ns)))
done
expect_between "seconds that the files cover" $((duration_ns / 1000000000)) 4 $((SECONDS - started))
echo "$count files, $sum samples; memory in KB: $(tr '\n' ' ' <"$TMPDIR/memory")"
# A sanitizer keeps what was freed.
awk '{ kb[NR] = $1 }
    END {
        for (i = 1; i <= NR; i++) if (i <= NR / 2) { if (kb[i] > early) early = kb[i] }
                                  else if (kb[i] > late) late = kb[i]
        exit late > 1.5 * early + 16384
    }' "$TMPDIR/memory" || grep -q __asan_init "$STACKWIDE" || fail "the memory grows"

# Probes are opened anew with every file.
if [[ -e /sys/bus/event_source/devices/uprobe ]]; then
    # shellcheck disable=SC2016 # the inner shell's
    record --flush 500ms -d 3 -e "uprobe:$WORKLOADS/nofp_probes:handle_request" -c 100 -o "$TMPDIR/probed.folded" -- \
        bash -c 'while "$0" 10000; do :; done' "$WORKLOADS/nofp_probes"
    for i in 1 2; do
        expect_frame "$TMPDIR/probed.$i.folded" handle_request
    done
else
    echo "this kernel has no uprobes: none are flushed"
fi

start sleep 60
record -p "$PID" --flush 300ms -d 1500ms -o "$TMPDIR/sleeper.folded" --stats "$TMPDIR/sleeper.json"
[[ -z $(find "$TMPDIR" -name 'sleeper*') ]] || fail "files were written about nothing"
grep -q "no samples" "$TMPDIR/record.err" || fail "nothing is said about nothing"

expect_status 2 "$STACKWIDE" record --flush 1s -t 1 -d 1
expect_status 1 "$STACKWIDE" record --flush 1s -d 1 -o "$TMPDIR/missing/x.folded"
