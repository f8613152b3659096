#!/bin/bash
# Fibers of Boost.Context on the stacks that it makes by default, of malloc(): the trace has each mounted when and
# where the program says it was.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perfetto.sh"
. "$(dirname "$0")/mounted.sh"
need_recording
need_trace_processor
need_command g++

g++ -std=gnu++17 -O2 -g -DWITH_BOOST "$REPO/tests/workloads/nofp_mounted.cc" -o "$TMPDIR/mounted" -pthread \
    -lboost_context 2>"$TMPDIR/g++.out" ||
    skip "needs Boost.Context (package libboost-context-dev): $(tail -n 1 "$TMPDIR/g++.out")"
record -F 1997 --sched -o "$TMPDIR/x.pftrace" -- "$TMPDIR/mounted" 2 300 >"$TMPDIR/turns"
expect_mounted "$TMPDIR/turns" '*spin_cpu_ns*'
check_trace "$TMPDIR/x.pftrace"
