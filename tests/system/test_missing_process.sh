#!/bin/bash
# A PID or TID that does not exist is an error that names it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

start true
gone=$PID
wait "$gone"
for option in -p -t; do
    expect_status 1 "$STACKWIDE" record "$option" "$gone" -d 1 -o "$TMPDIR/out.folded"
    grep -q "\<$gone\>" "$TMPDIR/err" || fail "does not name $gone: $(cat "$TMPDIR/err")"
    [[ $(wc -l <"$TMPDIR/err") = 1 ]] || fail "more than one line: $(cat "$TMPDIR/err")"
    [[ ! -e $TMPDIR/out.folded ]] || fail "wrote an output"
done
