#!/bin/bash
# A program that --alloc probes is overwritten in place while recording. The kernel keeps breakpoints at offsets of the file, so
# that the new program would die of a signal within its own instructions: they are taken away before the first byte is written.
# The content that is there by then is another one, which is followed again, and so is the first one when it is there again.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/allocations_static
[[ -x $load ]] || skip "no static libc here"
if ! "$STACKWIDE" record --alloc -c 1 -o "$TMPDIR/first.folded" -- "$load" 1 2>"$TMPDIR/err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "record --alloc: $(cat "$TMPDIR/err")"
fi
mkfifo "$TMPDIR/go"
exec 3<>"$TMPDIR/go"

# The program was followed so many times.
follows() {
    kill -0 "$RECORDER" 2>/dev/null || fail "the recording ended before it followed the program: $(cat "$TMPDIR/record.err")"
    (($(grep -cE "allocations of [^ ]*/program count from" "$TMPDIR/record.err") >= $1))
}

# What happens in a shell that is recorded from the start on.
cat >"$TMPDIR/turns" <<END
cd '$TMPDIR' || exit
./program each 10 wait <go
cp '$WORKLOADS/nofp_deep_static' program
./program 600 >/dev/null &
head -c 1 go >/dev/null
kill \$!
wait \$!
echo \$? >status
cp -p '$load' program
./program each 10 wait <go
END

cp -p "$load" "$TMPDIR/program"
start_recording --alloc -c 1 --buffer-size 64M -o "$TMPDIR/x.folded" --stats "$TMPDIR/x.json" -- bash "$TMPDIR/turns" 3>&-
wait_until follows 1
echo >&3
wait_until follows 2
echo >&3
wait_until follows 3
echo >&3
end_recording
# By our signal.
[[ $(cat "$TMPDIR/status") = 143 ]] || fail "the program that took the place of a probed one ended with $(cat "$TMPDIR/status")"
[[ $(stats_get "$TMPDIR/x.json" processes.overwritten_files) = 2 ]] || fail "a file was overwritten twice: $(cat "$TMPDIR/record.err")"
grep -q 'overwritten' "$TMPDIR/record.err" || fail "the summary does not tell of it: $(cat "$TMPDIR/record.err")"
# All that the first content has allocated, twice, and the little of a libc that starts.
each=$((20 * (1000 + 2 * 1700 + (1 << 20) + 1100 + 1200 + 1300 + 1400 + 1536 + 1600)))
expect_between "bytes of the first content" "$(folded_match "$TMPDIR/x.folded" '^program')" "$each" $((each + 500000))
expect_account_adds_up "$TMPDIR/x.json"
exec 3>&-
