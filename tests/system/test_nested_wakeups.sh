#!/bin/bash
# An interrupt that wakes a thread while its CPU is adding another event to the schedule: that wakeup
# cannot be told, and is counted as lost. Here every CPU is always adding one.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/bpf_maps.sh"
need_recording

# The state of each CPU, as the recording has it. bpftool writes the same for all.
is_every_cpu_busy() {
    run_bpftool -j map dump id "$MAP" >"$TMPDIR/cpus.json" && python3 - "$TMPDIR/cpus.json" <<'PYTHON'
import json, sys
cpus = [cpu["value"] for cpu in json.load(open(sys.argv[1]))[0]["formatted"]["values"]]
sys.exit(not all(cpu["is_busy"] for cpu in cpus))
PYTHON
}

mkfifo "$TMPDIR/go"
# shellcheck disable=SC2016 # expanded by that shell
start bash -c 'read -r _ <"$1/go"; exec "$2" 0.2 "$1/figures"' - "$TMPDIR" "$WORKLOADS/handover"
record_waiting "$PID" --sched -o "$TMPDIR/out.pftrace" --stats "$TMPDIR/stats.json"
find_map cpus
size=$(run_bpftool map show id "$MAP" | sed -n 's/.*value \([0-9]*\)B.*/\1/p')
# Nothing has been told yet. The last bytes are is_busy, has_begun and two of padding. A CPU that is adding
# an event just now takes it back.
make_every_cpu_busy() {
    # shellcheck disable=SC2046 # bytes
    run_bpftool map update id "$MAP" key 0 0 0 0 value $(list_bytes 0 $((size - 4))) 1 0 0 0
    is_every_cpu_busy
}
wait_until make_every_cpu_busy
echo >"$TMPDIR/go"
end_recording

# Each round wakes both threads, one of them by a timer's interrupt.
read -r _ _ rounds _ <"$TMPDIR/figures"
{ read -r fired && read -r nested && read -r told; } < <(
    stats_get "$TMPDIR/stats.json" sched.fired sched.lost.nested sched.wakings)
echo "$rounds rounds; $fired events, $nested wakeups lost, $told told"
((rounds > 0 && nested >= rounds)) || fail "only $nested wakeups were counted as lost in $rounds rounds"
grep -q "lost: wakeups by an interrupt inside another event" "$TMPDIR/record.err" ||
    fail "the summary does not tell of them"
