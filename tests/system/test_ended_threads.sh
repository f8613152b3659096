#!/bin/bash
# A thread that has ended is not recorded any more: the kernel gives its tid to whoever comes next.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/bpf_maps.sh"
need_recording
[[ $(readlink /proc/self/ns/pid) = "pid:[$((0xeffffffc))]" ]] ||
    skip "the kernel has other numbers for the threads of this pid namespace"

mkfifo "$TMPDIR/go"
# shellcheck disable=SC2016 # expanded by that shell
start bash -c 'exec 3<"$1/go"; read -r _ <&3; sleep 1000 & echo $! >"$1/child"; wait; read -r _ <&3' - "$TMPDIR"
exec 3>"$TMPDIR/go"
record_waiting "$PID" -o "$TMPDIR/out.folded"
find_map target_tids
echo >&3
wait_until test -s "$TMPDIR/child"
child=$(cat "$TMPDIR/child")
is_wanted "$child" || fail "a child of the recorded process is not recorded"
kill -KILL "$child"
is_forgotten() { ! is_wanted "$child"; }
wait_until is_forgotten
echo >&3
end_recording
