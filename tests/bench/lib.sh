# What the benchmarks that record have in common: loads, measuring, and a table of results.
#
# Sourced by them; needs root and skips without.
#
#   BENCH_SECONDS=10   length of one recording
#   BENCH_RUNS=5       repetitions where the least of several counts
#   BENCH_ROWS=PATH    see rows.sh
# shellcheck shell=bash disable=SC2034 # what is set here is used by who sources it
set -eu
export LC_ALL=C

seconds=${BENCH_SECONDS:-10}
runs=${BENCH_RUNS:-5}
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/rows.sh
O=${O:-build}
[[ $O = /* ]] || { [[ -d $O ]] && O=$PWD/$O || O=$caller/$O; }
stackwide=$O/stackwide
workloads=$O/tests/workloads

[[ $(id -u) = 0 ]] || { echo "needs root"; exit 77; }
has_perf=
perf version >/dev/null 2>&1 && has_perf=1 || echo "perf is not installed: no ratios"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/stackwide-bench.XXXXXX")
load=()
stop_load() {
    local pid
    for pid in ${load[@]+"${load[@]}"}; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    load=()
}
bpf_stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'kill $(jobs -p) 2>/dev/null || true; stop_load; echo "$bpf_stats" >/proc/sys/kernel/bpf_stats_enabled; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

start_load() {
    "$@" >/dev/null 2>&1 &
    load+=($!)
}

stat_of() {
    python3 -c '
import json, sys
value = json.load(open(sys.argv[1]))
for name in sys.argv[2].split("."):
    value = value[name]
print(sum(value.values()) if isinstance(value, dict) else value)' "$@"
}

# measure COMMAND…: prints wall-clock ms, CPU ms and peak KiB of the command (not its output).
measure() {
    python3 - "$@" 3>&1 >/dev/null 2>"$scratch/measured.err" <<'PYTHON'
import os, resource, subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, check=False)
wall = time.monotonic() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(3, b"%.1f %.1f %d\n" % (wall * 1e3, (used.ru_utime + used.ru_stime) * 1e3, used.ru_maxrss))
PYTHON
}

calc() { awk "BEGIN { printf \"$1\", ($2) }"; }

table=()
commands=()
# row WHAT OURS PERFS UNIT GOAL [NAME]: NAME of the figure where WHAT does not stand alone
row() {
    keep "${6:-$1}" "$4" "$2" "$3" "$5"
    table+=("$(printf '%-56s %12s %12s %7s   %s' "$1" "$2 $4" "$3$([[ $3 = - ]] || echo " $4")" "$ratio" "$5$(show_miss)")")
}

# Print all rows, the goals that were missed, and the commands that the rows came from.
print_table() {
    printf '\n%-56s %12s %12s %7s   %s\n' "$(nproc) CPUs, Linux $(uname -r | cut -d- -f1)" stackwide perf ratio goal
    printf '%s\n' "${table[@]}"
    print_missed
    printf '\ncommands, in the order of the table:\n'
    printf '  %s\n' "${commands[@]}"
}
