#!/bin/bash
# --zones FILE takes what a command's children wrote beside it, FILE.PID, and nothing of earlier runs,
# neither from FILE nor from beside it.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording

programs=$(dirname "$WORKLOADS")/programs
STACKWIDE_ZONES=$TMPDIR/zones "$programs/zones_cpp" >"$TMPDIR/earlier"
read -r _ earlier_child <"$TMPDIR/earlier"
[[ -s $TMPDIR/zones && -s $TMPDIR/zones.$earlier_child ]] || fail "the earlier run has not left two files"

record -F 997 --zones "$TMPDIR/zones" -o "$TMPDIR/x.pftrace" -- env STACKWIDE_ZONES="$TMPDIR/zones" \
    sh -c '"$1" >"$3"; "$2" 0.2' sh "$programs/zones_cpp" "$WORKLOADS/burn" "$TMPDIR/pids"
read -r parent child <"$TMPDIR/pids"
"$STACKWIDE" convert "$TMPDIR/x.pftrace" -o "$TMPDIR/back.zones" 2>"$TMPDIR/err" ||
    fail "the trace cannot be read: $(cat "$TMPDIR/err")"
# Name of the process, zones.
awk '/^#! process/ { process = $3 " " $4 } /^ZONE_START/ { count[process]++ }
    END { for (p in count) print p, count[p] }' "$TMPDIR/back.zones" | sort >"$TMPDIR/found"
printf '%s\n' "$parent zones_cpp 6" "$child zones_cpp 5" | sort >"$TMPDIR/expected"
diff "$TMPDIR/expected" "$TMPDIR/found" || fail "other processes have zones (>)"

# Files beside it alone: %p is the pid, and a child of such a process adds its own.
rm -f "$TMPDIR/zones"*
record -F 997 --zones "$TMPDIR/zones" -o "$TMPDIR/x.pftrace" -- env STACKWIDE_ZONES="$TMPDIR/zones.%p" \
    sh -c '"$1" >"$3"; "$2" 0.2' sh "$programs/zones_cpp" "$WORKLOADS/burn" "$TMPDIR/pids"
[[ ! -e $TMPDIR/zones ]] || fail "the program has written into FILE"
"$STACKWIDE" convert "$TMPDIR/x.pftrace" -o "$TMPDIR/back.zones"
(($(grep -c '^ZONE_START' "$TMPDIR/back.zones") == 11)) || fail "not the zones of: $(ls "$TMPDIR"/zones*)"
