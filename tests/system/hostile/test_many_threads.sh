#!/bin/bash
# A user's program with 20,000 threads: the recorder stays small, for the machine and for that process.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/unharmed.sh"
need_recording
need_command setpriv

exec 9<"$WORKLOADS/hostile/many_threads"
start "${as_attacker[@]}" /proc/self/fd/9 120 20000 >"$TMPDIR/threads"
attacker=$PID
wait_until test -s "$TMPDIR/threads"
cat "$TMPDIR/threads"
(($(cut -d ' ' -f 1 "$TMPDIR/threads") >= 5000)) || skip "not so many threads may be started here"
start "$WORKLOADS/nofp_deep" 120

for target in -a "-p $attacker"; do
    # shellcheck disable=SC2086 # a list of options
    record -F 499 $target -d 2 --stats "$TMPDIR/stats.json" -o "$TMPDIR/x.pftrace" -o "$TMPDIR/x.folded"
    expect_small 200
    expect_cpu_seconds 5
    expect_account_adds_up "$TMPDIR/stats.json"
    expect_frame "$TMPDIR/x.folded" main 20
done
