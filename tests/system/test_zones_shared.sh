#!/bin/bash
# record --zones FILE.ring copies shared memory while the program writes it: many times what a ring
# holds is in the trace, what is not is counted, and nothing is there of an earlier run.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording
need_command cc

cat >"$TMPDIR/rounds.c" <<'END'
#include <stackwide/zones.h>
int main(void)
{
    struct timespec nap = {0, 20000000};
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 1000; i++) {
            STACKWIDE_ZONE("one");
        }
        nanosleep(&nap, NULL);
    }
    return raise(SIGKILL);
}
END
cc -I "$REPO/include" -o "$TMPDIR/rounds" "$TMPDIR/rounds.c" -pthread
STACKWIDE_ZONES=$TMPDIR/x.ring "$(dirname "$WORKLOADS")/programs/zones_threads" 10 >/dev/null
# The program is killed, which the recording ends with as well.
STACKWIDE_ZONES=$TMPDIR/x.ring expect_status $((128 + 9)) "$STACKWIDE" record -F 99 --zones "$TMPDIR/x.ring" \
    -o "$TMPDIR/x.pftrace" -- "$TMPDIR/rounds"
overwritten=$(sed -n 's/.*x\.ring: \([0-9,]*\) zones\{0,1\} w.* overwritten.*/\1/p' "$TMPDIR/err" | tr -d ,)
"$STACKWIDE" convert "$TMPDIR/x.pftrace" -o "$TMPDIR/back.zones"
found=$(grep -c '^ZONE_START' "$TMPDIR/back.zones")
((found + ${overwritten:-0} == 100000)) ||
    fail "of 100000 zones $found are in the trace, and ${overwritten:-0} are told to be lost: $(cat "$TMPDIR/err")"
((found > 20000)) || fail "only $found zones are in the trace, not many more than a ring holds"
grep -q '^THREAD, .*worker' "$TMPDIR/back.zones" && fail "zones of an earlier run are in the trace"
exit 0
