#!/bin/bash
# The kernel's own work in a trace of the whole machine: interrupts and softirqs are slices of their CPUs, items of
# workqueues of their workers. There are as many as the kernel counts by itself, and what is lost is counted; read and
# written again, they are the same.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
need_recording
need_trace_processor

# All that the kernel has counted, on all CPUs.
count_softirqs() { awk 'NR > 1 { for (i = 2; i <= NF; i++) sum += $i } END { printf "%d", sum }' /proc/softirqs; }
# Those with a handler: of numbers, not the CPU's own.
count_irqs() {
    awk 'NR == 1 { cpus = NF } $1 ~ /^[0-9]+:$/ { for (i = 2; i <= cpus + 1; i++) sum += $i } END { printf "%d", sum }' \
        /proc/interrupts
}

# The rings hold all that may come, so nothing is lost however late it is read.
start_recording -a --sched --buffer-size 64M -o "$TMPDIR/a.pftrace" --stats "$TMPDIR/stats.json"
softirqs=$(count_softirqs)
irqs=$(count_irqs)
has_worked() {
    dd if=/dev/zero of="$TMPDIR/file" bs=64k count=4 conv=fsync 2>/dev/null
    (($(count_softirqs) > softirqs + 500))
}
wait_until has_worked
softirqs=$(($(count_softirqs) - softirqs))
irqs=$(($(count_irqs) - irqs))
stop_recording

stats_get "$TMPDIR/stats.json" sched.kwork.fired sched.kwork.kept sched.kwork.unseen_begin sched.kwork.lost \
    >"$TMPDIR/values"
{ read -r fired && read -r kept && read -r unseen && read -r lost; } <"$TMPDIR/values"
echo "$fired ended, $kept kept; the kernel counts $softirqs softirqs and $irqs interrupts meanwhile"
((fired == kept + unseen + lost)) || fail "$fired are not $kept, $unseen and $lost"
((lost == 0)) || fail "$lost were lost"

SLICES="(select slice.*, track.type, track.name as track from slice join track on track.id = slice.track_id)"
# What is under way when it stops has no end yet, and is not told; nor is what begins first.
expect_rows "select sum(type = 'cpu_softirq') >= $softirqs - 16, sum(type = 'cpu_irq') >= $irqs - 16
    from $SLICES where type in ('cpu_softirq', 'cpu_irq')" <<<'1|1'
expect_rows "select count(*) from $SLICES where type in ('cpu_softirq', 'cpu_irq') or category = 'workqueue'" <<<"$kept"
expect_rows "select max(depth), min(dur) >= 0, sum(name is null) from $SLICES
    where type in ('cpu_softirq', 'cpu_irq') or category = 'workqueue'" <<<'0|1|0'
# By workers alone, and their functions have names.
expect_rows "select count(*) > 0, sum(s.name glob '0x*' or thread.name not glob 'kworker*') from slice s
    join thread_track t on t.id = s.track_id join thread using(utid) where s.category = 'workqueue'" <<<'1|0'
check_trace "$TMPDIR/a.pftrace"

[[ -z ${TRACES:-} ]] || exit 0
expect_status 0 "$STACKWIDE" convert "$TMPDIR/a.pftrace" -o "$TMPDIR/b.pftrace"
[[ ! -s $TMPDIR/err ]] || fail "rewriting it says: $(cat "$TMPDIR/err")"
for trace in a b; do
    node "$REPO/tests/perfetto/query.mjs" "$TRACE_PROCESSOR" "$TMPDIR/$trace.pftrace" \
        "select ts, dur, name, type, track from $SLICES where type in ('cpu_softirq', 'cpu_irq')
            or category = 'workqueue' order by 1, 4, 5, 3" >"$TMPDIR/$trace.rows"
done
cmp "$TMPDIR/a.rows" "$TMPDIR/b.rows" || fail "the trace that was rewritten has others"
