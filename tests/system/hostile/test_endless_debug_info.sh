#!/bin/bash
# A program whose debug information takes longer to read than anybody waits: it gets names from its
# symbols, and the others get all of theirs. A signal while naming writes what there is.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/symbolizers.sh"
need_recording
need_command setpriv

# nobody may not pass the folders above the temporary one.
exec 9<"$WORKLOADS/hostile/endless_debug_info"
# Both end before the naming begins, which then has the time that it is given.
# shellcheck disable=SC2016 # the inner shell's argument
load=(sh -c 'setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/9 6000000 & "$0" 1; wait'
    "$WORKLOADS/nofp_deep")

begin=$SECONDS
record -F 499 --symbolize-limit 6 --stats "$TMPDIR/stats.json" -o "$TMPDIR/x.folded" -- "${load[@]}"
taken=$((SECONDS - begin))
cat "$TMPDIR/record.err"
((taken <= 15)) || fail "it took $taken s"
has_line "skipped debug information: timed out" <"$TMPDIR/record.err" ||
    fail "there is no warning"
expect_frame "$TMPDIR/x.folded" burn 20
expect_frame "$TMPDIR/x.folded" level_40 20
(($(stats_get "$TMPDIR/stats.json" frames.unnamed.not_reached) == 0)) ||
    fail "frames were not reached"

# The limit is for all: what was not reached is given as file and offset. In less than this no file is given up.
record -F 499 --symbolize-limit 100ms --stats "$TMPDIR/stats.json" -o "$TMPDIR/y.folded" -- "${load[@]}"
has_line "symbolize-limit" <"$TMPDIR/record.err" || fail "there is no warning of the limit"
(($(stats_get "$TMPDIR/stats.json" frames.unnamed.not_reached) > 100)) ||
    fail "frames that were not reached are not counted"
has_line "0x" <"$TMPDIR/y.folded" || fail "frames have no offset"
expect_account_adds_up "$TMPDIR/stats.json"

# SIGTERM after the sampling: written at once, with the names that there were by then.
start "$STACKWIDE" record -q -F 499 --symbolize-limit 50 -o "$TMPDIR/z.folded" -- "${load[@]}" 2>"$TMPDIR/record.err"
recorder=$PID
wait_until find_symbolizer "$recorder"
sleep 0.5
begin=$SECONDS
kill -TERM "$recorder"
status=0
wait "$recorder" || status=$?
((status == 0)) || fail "status $status after SIGTERM while naming"
((SECONDS - begin <= 3)) || fail "SIGTERM was not honoured"
for program in 'endless_debug_info\+0x' '(level_40|nofp_deep\+0x)'; do
    count=$(awk -v program="$program" '$0 ~ program { sum += $NF } END { print sum + 0 }' \
        "$TMPDIR/z.folded")
    ((count >= 100)) || fail "only $count samples hold $program"
done
