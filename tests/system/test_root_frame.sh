#!/bin/bash
# --root: the first frame of every stack.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/cpu_time.sh"
need_recording

start "$WORKLOADS/threads" 60 2
program=$PID
wait_until has_thread "$program" worker-b
first_frames() { sed -E 's/ [0-9]+$//' "$TMPDIR/out.folded" | cut -d';' -f1 | sort -u | tr '\n' ' '; }

# expect_roots "EXPECTED…" ARGUMENT…
expect_roots() {
    local expected=$1
    shift
    record_cpu_time 250 "$program" -F 399 -p "$program" "$@" -o "$TMPDIR/out.folded"
    [[ $(first_frames) = "$expected " ]] || fail "$*: '$(first_frames)', expected '$expected '"
}

expect_roots "worker-a worker-b"
expect_roots "worker-a worker-b" --root comm
expect_roots "worker-a-$program worker-b-$program" --root pid
expect_roots "worker-a-$program/$(find_thread "$program" worker-a) worker-b-$program/$(find_thread "$program" worker-b)" --root tid
record_cpu_time 500 "$program" -F 399 -p "$program" --root none -o "$TMPDIR/out.folded"
! grep -q '^worker' "$TMPDIR/out.folded" || fail "--root none has root frames: $(first_frames)"
expect_frame "$TMPDIR/out.folded" work_a 20
