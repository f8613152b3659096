#!/bin/bash
# At 999 Hz with every CPU busy nothing is lost.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

programs=()
for _ in $(seq "$(nproc)"); do
    start "$WORKLOADS/deep" 600
    programs+=("$PID")
done

# expect_nothing_lost OPTION…: until each program has used 1 s of CPU time.
expect_nothing_lost() {
    start_recording -F 999 --stats "$TMPDIR/stats.json" -o "$TMPDIR/out.folded" "$@"
    wait_for_cpu_times 1000 "${programs[@]}"
    stop_recording
    expect_account_adds_up "$TMPDIR/stats.json"
    # Another machine may have the CPU when a tick is due.
    [[ $(stats_get "$TMPDIR/stats.json" lost) = "$(stats_get "$TMPDIR/stats.json" lost.undelivered)" ]] || fail "lost samples: $(cat "$TMPDIR/stats.json")"
    expect_frame "$TMPDIR/out.folded" level_65 500
}

# Whoever reads the rings need not be quick for that: samples of the stack that all have are small, and half
# of a ring takes no copies of stacks. What else runs on the machine may have any stacks: with the most
# that each sample can bring, the larger ring is half full after 8 s on 8 CPUs.
expect_nothing_lost -p "$(IFS=, && echo "${programs[*]}")"
expect_nothing_lost -a --buffer-size 512M
