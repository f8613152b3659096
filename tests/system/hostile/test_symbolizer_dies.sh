#!/bin/bash
# The process that names has no rights, and when it dies another one goes on without the debug
# information that it died of. When none lives, the profile is written with file and offset.
# runs: beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/symbolizers.sh"
need_recording

# record_slowly FILE: names take minutes; the recorder's pid is left in RECORDER, the symbolizer's in SYMBOLIZER.
record_slowly() {
    start "$STACKWIDE" record -F 499 --symbolize-limit 50 --stats "$TMPDIR/stats.json" -o "$1" -- \
        "$WORKLOADS/hostile/endless_debug_info" 3000000 2>"$TMPDIR/record.err"
    RECORDER=$PID
    wait_until find_symbolizer "$RECORDER"
}

record_slowly "$TMPDIR/x.folded"
sleep 0.5
find_symbolizer "$RECORDER" || fail "the symbolizer has ended"
status=$(cat "/proc/$SYMBOLIZER/status")
echo "$status" | grep -E '^(Uid|Groups|Cap|NoNewPrivs|Seccomp)'
# A user that no other process has.
user=$(awk '$1 == "Uid:" && $2 == $3 && $3 == $4 && $4 == $5 { print $2 }' <<<"$status")
expect_between "user of the symbolizer" "${user:-0}" 61184 65519
[[ $(find /proc -maxdepth 1 -name '[0-9]*' -uid "$user" -exec cat {}/comm \; 2>/dev/null | grep -cv '^stackwide') = 0 ]] ||
    fail "others are of user $user"
for wanted in 'CapPrm:	0000000000000000' 'NoNewPrivs:	1' 'Seccomp:	2'; do
    has_line -F "$wanted" <<<"$status" || fail "the symbolizer's status lacks $wanted"
done
find "/proc/$SYMBOLIZER/fd" -printf '%l\n' | has_line -E 'perf_event|anon_inode:bpf|x\.folded' &&
    fail "the symbolizer holds what it does not need: $(find "/proc/$SYMBOLIZER/fd" -printf '%l ')"
# Not SIGSEGV, which sanitizers handle.
kill -ABRT "$SYMBOLIZER"
end_recording
has_line "the symbolizer process died" <"$TMPDIR/record.err" || fail "there is no warning"
expect_frame "$TMPDIR/x.folded" burn 90

# Whoever comes is killed before it can begin.
start "$WORKLOADS/deep" 60
deep=$PID
start "$STACKWIDE" record -F 499 -p "$deep" -d 1 --stats "$TMPDIR/stats.json" -o "$TMPDIR/y.folded" \
    2>"$TMPDIR/record.err"
RECORDER=$PID
kill_symbolizers() {
    pkill -KILL -P "$RECORDER" -x stackwide-name || true
    ! kill -0 "$RECORDER" 2>/dev/null
}
end=$((SECONDS + 30))
until kill_symbolizers; do
    ((SECONDS < end)) || fail "the recording does not end"
done
end_recording
cat "$TMPDIR/record.err"
expect_account_adds_up "$TMPDIR/stats.json"
has_line . <"$TMPDIR/y.folded" || fail "the recording is lost"

# The writer is killed, as somebody of the same user could do: another one writes.
start "$STACKWIDE" record -F 499 -p "$deep" -d 1 --symbolize-limit 20 --stats "$TMPDIR/stats.json" \
    -o "$TMPDIR/z.folded" -o "$TMPDIR/z.pb.gz" 2>"$TMPDIR/record.err"
RECORDER=$PID
end=$((SECONDS + 30))
until pkill -KILL -P "$RECORDER" -x stackwide-write; do
    ((SECONDS < end)) || fail "there is no writer"
done
end_recording
cat "$TMPDIR/record.err"
if has_line "killed by signal 9" <"$TMPDIR/record.err"; then
    (($(stats_get "$TMPDIR/stats.json" frames.unnamed.not_reached) > 0)) || fail "names from nowhere"
fi
expect_account_adds_up "$TMPDIR/stats.json"
has_line . <"$TMPDIR/z.folded" || fail "the recording is lost"
expect_status 0 "$STACKWIDE" report "$TMPDIR/z.pb.gz"
