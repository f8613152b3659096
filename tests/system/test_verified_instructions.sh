#!/bin/bash
# No BPF program costs the verifier more than half of the million instructions that it looks at, so
# that one which looks at more of them does not refuse it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# A trace with scheduling, and waits with their wakers, need all programs but one small one, and those of events. Of two with the same name the larger one counts.
record -v -a --sched --off-cpu --wakers -d 200ms -o "$TMPDIR/all.pftrace"
mv "$TMPDIR/record.err" "$TMPDIR/said"
# Those of events, too.
record -v -a -e page-faults -d 200ms -o "$TMPDIR/faults.folded"
cat "$TMPDIR/record.err" >>"$TMPDIR/said"
if "$STACKWIDE" events sched:sched_process_exec >/dev/null 2>&1; then
    record -v -a -e sched:sched_process_exec -d 200ms -o "$TMPDIR/exec.folded"
    cat "$TMPDIR/record.err" >>"$TMPDIR/said"
    record -v -a -e sched:sched_process_exec --filter 'filename ~ "*/true" || pid > 1 && comm != "x"' -d 200ms -o "$TMPDIR/exec.folded"
    cat "$TMPDIR/record.err" >>"$TMPDIR/said"
    # What takes time: calls and requests, of which a kernel may have no tracepoints.
    for event in syscall-time block-io-time block-io; do
        "$STACKWIDE" events "$event" >/dev/null 2>&1 || continue
        record -v -a -e "$event" -d 200ms -o "$TMPDIR/time.folded"
        cat "$TMPDIR/record.err" >>"$TMPDIR/said"
    done
else
    echo "tracefs is not mounted: without the programs of tracepoints"
fi
sed -nE 's/^.*\<([a-z_]+): ([0-9]+) instructions verified$/\1 \2/p' "$TMPDIR/said" |
    sort -k 2nr | sort -su -k 1,1 | sort -k 2nr >"$TMPDIR/programs"
[[ -s $TMPDIR/programs ]] || fail "no program's instructions are told"
while read -r program instructions; do
    figure "instructions.$program" "$instructions"
    expect_between "instructions verified of $program" "$instructions" 1 500000
done <"$TMPDIR/programs"
