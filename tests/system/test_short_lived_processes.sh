#!/bin/bash
# Processes that are gone after some 20 ms are sampled and named like all others: as long as they
# run, and for as much of it as they spend in each function.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# Beside them runs burn, by a name that no other test's has: its samples tell how many ticks of a CPU's
# time come at least, where this machine misses some. `times` says what CPU time whoever has ended used, first without burn, then
# with it.
cp "$WORKLOADS/burn" "$TMPDIR/burn_beside"
cp "$WORKLOADS/short_lived" "$TMPDIR/short_beside"
cat >"$TMPDIR/load.sh" <<'END'
"$1/burn_beside" 60 &
for ((i = 0; i < 60; i++)); do "$1/short_beside"; done
times >"$1/times"
kill $!
wait
times >>"$1/times"
END
# CPU time in ms out of "0m0.050000s 0m0.120000s", of the children: lines 2 and 4.
read_times() {
    awk 'NR % 2 == 0 {
        for (i = 1; i <= 2; i++) { split($i, part, "[ms]"); sum += part[1] * 60 + part[2] }
        printf "%d ", sum * 1000; sum = 0
    } END { print "" }' "$TMPDIR/times"
}

# expect_short_lived FILE
expect_short_lived() {
    local runs=60 samples short_ms both_ms of_burn least
    read -r short_ms both_ms < <(read_times)
    samples=$(folded_count "$1" short_lived_burn short_beside)
    of_burn=$(folded_count "$1" burn_beside)
    ((of_burn >= 100)) || fail "only $of_burn samples of burn"
    # 20 ms are for short_lived_burn, the rest for starting and ending.
    least=$((14 * runs * of_burn / (both_ms - short_ms)))
    echo "$runs runs of $((short_ms / runs)) ms, $samples samples in short_lived_burn;" \
        "burn: $((both_ms - short_ms)) ms, $of_burn samples"
    expect_between "samples of short_lived_burn" "$samples" $least $((24 * runs))
    # Or more: until its exec, a process is called as who started it.
    expect_between "share of short_lived_burn" "$(folded_share "$1" short_lived_burn short_beside)" \
        $((20 * runs * 100 / short_ms - 15)) 100
}

start_recording -F 999 -o "$TMPDIR/all.folded"
bash "$TMPDIR/load.sh" "$TMPDIR"
stop_recording
expect_short_lived "$TMPDIR/all.folded"

record -F 999 -o "$TMPDIR/command.folded" -- bash "$TMPDIR/load.sh" "$TMPDIR"
expect_short_lived "$TMPDIR/command.folded"
