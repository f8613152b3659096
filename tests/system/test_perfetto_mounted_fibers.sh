#!/bin/bash
# Fibers of makecontext() whose stacks share a mapping, on two threads by turns: the trace has each mounted when
# and where the program says it was.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
. "$(dirname "$0")/mounted.sh"
need_recording
need_trace_processor

record -F 1997 --sched -o "$TMPDIR/x.pftrace" -- "$WORKLOADS/nofp_mounted" 2 300 >"$TMPDIR/turns"
expect_mounted "$TMPDIR/turns" '*spin_cpu_ns*'
check_trace "$TMPDIR/x.pftrace"
