#!/bin/bash
# While recording, the recorder comes before what it records; the command, what reads others' files, and
# the naming afterwards do not. Who has chosen a priority keeps it.
# runs: beside others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile/symbolizers.sh"
need_recording
need_command setpriv
[[ $(nice -n -10 nice 2>/dev/null) = -10 ]] || skip "priorities cannot be raised here"

niceness() { ps -o ni= -p "$1" | tr -d ' '; }
expect_niceness() { [[ $(niceness "$2") = "$3" ]] || fail "$1 has niceness $(niceness "$2"), expected $3"; }

# A file of another user: a process of its own reads it.
cp "$WORKLOADS/deep" "$TMPDIR/theirs"
chown 65534 "$TMPDIR/theirs"
chmod 755 "$TMPDIR"
start setpriv --reuid=65534 --regid=65534 --clear-groups "$TMPDIR/theirs" 60
list_readers() { pgrep -P "$RECORDER" -x stackwide-elf | xargs -r ps -o ni= -p | tr -d ' ' | sort -u; }
has_both_readers() { [[ $(list_readers) = $'-10\n0' ]]; }
start_recording -a -o "$TMPDIR/x.folded"
expect_niceness "the recorder" "$RECORDER" -10
wait_until has_both_readers || fail "the processes that read files have niceness $(list_readers)"
stop_recording

# shellcheck disable=SC2016 # the inner shell is to expand it
start_recording -F 99 --symbolize-limit 50 -o "$TMPDIR/y.folded" -- \
    sh -c 'nice >"$0"; exec "$1" 3000000' "$TMPDIR/niceness" "$WORKLOADS/hostile/endless_debug_info"
wait_until find_symbolizer "$RECORDER"
expect_niceness "the symbolizer" "$SYMBOLIZER" 0
kill -TERM "$RECORDER"
end_recording
[[ $(<"$TMPDIR/niceness") = 0 ]] || fail "the command has niceness $(<"$TMPDIR/niceness")"

start nice -n 3 "$STACKWIDE" record -p $$ -d 1 -o "$TMPDIR/z.folded" 2>"$TMPDIR/record.err"
RECORDER=$PID
wait_until is_sampling "$RECORDER"
expect_niceness "a recorder of niceness 3" "$RECORDER" 3
end_recording
