#!/bin/bash
# What our programs in the kernel take is in our cost: by the kernel's statistics, or by the runs that they time.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording
statistics=/proc/sys/kernel/bpf_stats_enabled
[[ $(cat "$statistics" 2>/dev/null) = 0 ]] || skip "this kernel's statistics of programs cannot be switched on, or are on"

# Two processes that do nothing but switch: the programs of --off-cpu run at each.
record --off-cpu -v -o "$TMPDIR/sampled.folded" --stats "$TMPDIR/sampled.json" -- "$WORKLOADS/nofp_pingpong" 30000 >/dev/null
grep 'BPF programs' "$TMPDIR/record.err"
grep -q 'in BPF programs, while others ran (estimated: some runs are timed)' "$TMPDIR/record.err" || fail "the summary does not tell of the programs"
trap 'echo 0 >"$statistics"; stop_background' EXIT
echo 1 >"$statistics" || skip "the statistics cannot be switched on"
record --off-cpu -v -o "$TMPDIR/measured.folded" --stats "$TMPDIR/measured.json" -- "$WORKLOADS/nofp_pingpong" 30000 >/dev/null
grep 'BPF programs' "$TMPDIR/record.err" | tee "$TMPDIR/both"
python3 -S - "$TMPDIR/sampled.json" "$TMPDIR/measured.json" "$TMPDIR/both" <<'PYTHON' || fail "$(cat "$TMPDIR"/*.json "$TMPDIR/both")"
import json, re, sys
sampled, measured = (json.load(open(name))["profiler"] for name in sys.argv[1:3])
assert sampled["bpf_sampled"] and not measured["bpf_sampled"]
for profiler in (sampled, measured):
    # Each of 60,000 switches runs two programs at least.
    assert profiler["bpf_runs"] > 120000 and profiler["bpf_ns"] > profiler["bpf_runs"] * 10
# Of the same runs: two clocks that are read at other points.
by_kernel, by_runs = map(float, re.search(r" runs, ([\d.]+) s by the kernel's statistics, ([\d.]+) s by", open(sys.argv[3]).read()).groups())
assert by_kernel / 2 < by_runs < by_kernel * 2
assert abs(by_kernel - measured["bpf_ns"] / 1e9) < 1e-6
PYTHON
