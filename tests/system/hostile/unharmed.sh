# shellcheck shell=bash
# Sourced after lib.sh by tests in which a hostile program runs while the whole machine is recorded:
# what it must not reach. Beside it runs nofp_deep, of another user, by a name of its own.

as_attacker=(setpriv --reuid=65534 --regid=65534 --clear-groups)

start_victim() {
    cp "$WORKLOADS/nofp_deep" "$TMPDIR/victim_of_it"
    start "$TMPDIR/victim_of_it" 600
}

# start_attacked [OPTION…]: the profile is to be $TMPDIR/x.folded
start_attacked() { start_recording -F 499 -a --stats "$TMPDIR/stats.json" -o "$TMPDIR/x.folded" "$@"; }

# With memory and time of its own.
is_sanitized() { grep -q __asan_init "$STACKWIDE"; }

# The recorder's memory as the account has it, in MB, is bounded. What a sanitizer needs is no measure.
# expect_small MAXIMUM
expect_small() {
    local megabytes=$(($(stats_get "$TMPDIR/stats.json" profiler.max_rss_bytes) >> 20))
    echo "$megabytes MB"
    is_sanitized || ((megabytes <= $1)) || fail "$megabytes MB, expected at most $1"
}

# What all of it has cost, with the naming, is bounded; not how long it took, as others use the machine.
# expect_cpu_seconds MAXIMUM
expect_cpu_seconds() {
    local cpu_ns
    cpu_ns=$(stats_get "$TMPDIR/stats.json" profiler.total_cpu_ns)
    awk -v n="$cpu_ns" 'BEGIN { printf "%.1f s of CPU\n", n / 1e9 }'
    is_sanitized || ((cpu_ns <= $1 * 1000000000)) || fail "$((cpu_ns / 1000000)) ms of CPU, expected at most $1 s"
}

# Ctrl-C ends the recording, the file is there and adds up, others' stacks are whole.
stop_unharmed() {
    stop_recording
    expect_cpu_seconds 5
    expect_small 200
    expect_account_adds_up "$TMPDIR/stats.json"
    expect_frame "$TMPDIR/x.folded" victim_of_it 20
    expect_between "share of whole stacks of another user" \
        "$(folded_share "$TMPDIR/x.folded" main victim_of_it)" 99 100
}
