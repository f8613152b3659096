#!/bin/bash
# --stats: every name of the contract is there, and fired = idle + filtered + samples + lost.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

cp "$WORKLOADS/burn" "$TMPDIR/burn_accounted"
start "$TMPDIR/burn_accounted" 60
program=$PID
start "$WORKLOADS/spawn" 60 "$WORKLOADS/short_lived" >/dev/null
record -F 999 -d 1 -o "$TMPDIR/all.folded" --stats "$TMPDIR/all.json"
record -F 999 -d 1 -p "$program" -o "$TMPDIR/one.folded" --stats "$TMPDIR/one.json"
record -F 999 -o "$TMPDIR/command.folded" --stats "$TMPDIR/command.json" -- "$WORKLOADS/burn" 0.5
stop_background

names=(samples frequency_hz lost version duration_ns cpus idle filtered user_stacks.complete
    user_stacks.in_exec user_stacks.kernel_only user_stacks.truncated user_stacks.recovered user_stacks.unproven frames.total
    frames.named frames.sizeless frames.unnamed unwind_tables.objfiles unwind_tables.rows unwind_tables.bytes
    unwind_tables.build_ns unwind_tables.build_wall_ns profiler.cpu_ns profiler.max_rss_bytes
    profiler.startup_ns profiler.output_ns profiler.bpf_ns profiler.bpf_runs outside)
for run in all one command; do
    expect_account_adds_up "$TMPDIR/$run.json"
    stats_get "$TMPDIR/$run.json" "${names[@]}" >"$TMPDIR/values" || fail "$run: a name is missing"
    { read -r samples && read -r frequency_hz; } <"$TMPDIR/values"
    [[ $samples = "$(folded_total "$TMPDIR/$run.folded")" ]] ||
        fail "$run: samples differ from the sum of the folded file"
    [[ $frequency_hz = 999 ]] || fail "$run: frequency_hz"
done

# No CPU ticks more often than it was asked to, and the program that was there had its share.
for run in all one command; do
    stats_get "$TMPDIR/$run.json" fired duration_ns cpus >"$TMPDIR/values"
    { read -r fired && read -r duration_ns && read -r cpus; } <"$TMPDIR/values"
    expect_between "$run: ticks fired in $((duration_ns / 1000000)) ms on $cpus CPUs" "$fired" 1 \
        $((cpus * (duration_ns / 1000 * 999 * 101 / 100 / 1000000 + 2)))
done
expect_frame "$TMPDIR/all.folded" burn_accounted
expect_frame "$TMPDIR/one.folded" burn_60
