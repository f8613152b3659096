# shellcheck shell=bash
# Sourced after lib.sh by tests that want a number of samples of a program beside the recording.
# What a machine gives a program in a second is its own affair; how many samples a second of CPU
# time makes is ours. So these tests record until the program has used so much of it, by the
# kernel's account.

# CPU time in ms of a process with its threads, those that have ended too; of one thread with TID.
# The kernel counts it in USER_HZ, which is 100 on every architecture that we run on.
# cpu_ms PID [TID]
cpu_ms() {
    awk -v hz=100 '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' \
        "/proc/$1/${2:+task/$2/}stat"
}

has_used() { (($(cpu_ms "${@:2}") >= $1)); }

# Wait until it has used MS more, however long that takes: the runner has a time limit. It must not end before that.
# wait_for_cpu_time MS PID [TID]
wait_for_cpu_time() {
    local goal
    goal=$(($(cpu_ms "${@:2}") + $1))
    until has_used "$goal" "${@:2}"; do
        [[ -e /proc/$2 ]] || fail "process $2 ended before it had used $1 ms more of CPU time"
        sleep 0.05
    done
}

# Wait until each of several processes has used MS more.
# wait_for_cpu_times MS PID…
wait_for_cpu_times() {
    local pid
    local -A goals=()
    for pid in "${@:2}"; do
        goals[$pid]=$(($(cpu_ms "$pid") + $1))
    done
    for pid in "${@:2}"; do
        until has_used "${goals[$pid]}" "$pid"; do
            [[ -e /proc/$pid ]] || fail "process $pid ended before it had used $1 ms more of CPU time"
            sleep 0.05
        done
    done
}

# A CPU that has nothing to do does not tick: give each something of the least weight.
keep_cpus_busy() {
    local cpu
    for ((cpu = 0; cpu < $(nproc); cpu++)); do
        start nice -n 19 sh -c 'while :; do :; done'
    done
}

# The samples that so much CPU time makes in a recording, by its account: where the machine was late
# with a tick, one sample stands for two. It takes every CPU to be busy: see keep_cpus_busy.
# expected_samples MS STATS
expected_samples() {
    stats_get "$2" fired duration_ns cpus | tr '\n' ' ' |
        awk -v ms="$1" '{ printf "%d\n", ms / 1000 * $1 / ($2 / 1e9 * $3) }'
}

# Record until a process has used MS of CPU time.
# record_cpu_time MS PID OPTION…
record_cpu_time() {
    start_recording "${@:3}"
    wait_for_cpu_time "$1" "$2"
    stop_recording
}
