#!/bin/bash
# A zone says how long its thread was off the CPU inside it, where scheduling is recorded, too.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_recording
need_command cc

cat >"$TMPDIR/naps.c" <<'END'
#include <stackwide/zones.h>
static void keep_busy(long us)
{
    STACKWIDE_ZONE("busy");
    struct timespec start, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}
static void take_nap(void)
{
    STACKWIDE_ZONE("nap");
    struct timespec nap = {0, 50000000};
    nanosleep(&nap, NULL);
}
int main(void)
{
    STACKWIDE_ZONE("both");
    keep_busy(100000);
    for (int i = 0; i < 9; i++)
        take_nap();
    return 0;
}
END
cc -I "$REPO/include" -o "$TMPDIR/naps" "$TMPDIR/naps.c" -pthread
for options in --sched ""; do
    # shellcheck disable=SC2086 # none, or one
    record -F 499 $options --zones "$TMPDIR/zones" -o "$TMPDIR/x.pftrace" -- \
        env STACKWIDE_ZONES="$TMPDIR/zones" "$TMPDIR/naps"
    "$STACKWIDE" convert "$TMPDIR/x.pftrace" -o "$TMPDIR/back.zones"
    [[ -n $options ]] || break
    # By zone: name, how long it was, how long off the CPU, in milliseconds, rounded down.
    awk -F ', ' '/^LOCATION/ { name[$2] = $3 }
        /^ZONE_START/ { begin[$2] = $4; zone[$2] = name[$5]; off[$2] = 0 }
        /^ZONE_PARAM/ && $3 == "off_cpu_ns" { off[$2] = $4 }
        /^ZONE_END/ { print zone[$2], int(($3 - begin[$2]) / 1e6), int(off[$2] / 1e6) }' \
        "$TMPDIR/back.zones" >"$TMPDIR/found"
    (($(grep -c . "$TMPDIR/found") == 11)) || fail "other zones: $(cat "$TMPDIR/found")"
    naps=0
    busy=0
    gaps=()
    while read -r name length off; do
        ((off <= length)) || fail "$name is off the CPU for longer than it is there: $off of $length ms"
        [[ $name != nap ]] || ((off >= 49)) || fail "in a nap of $length ms the thread is off the CPU for $off"
        [[ $name != nap ]] || gaps+=($((length - off)))
        [[ $name != busy ]] || ((length - off >= 90)) ||
            fail "of $length ms that kept a CPU busy for 100, $off are off it"
        [[ $name != nap ]] || naps=$((naps + off))
        [[ $name != busy ]] || busy=$off
        [[ $name != both ]] || ((off >= naps + busy)) ||
            fail "what is around naps of $naps ms and $busy ms more is off the CPU for $off"
    done <"$TMPDIR/found"
    # Before it sleeps, and after it woke, a thread runs; now and then the host has its CPU meanwhile.
    echo "naps are longer than the time off the CPU by ${gaps[*]} ms"
    (($(printf '%s\n' "${gaps[@]}" | sort -n | sed -n 5p) <= 1)) || fail "most naps are too long by more than 1 ms"
done
grep -q off_cpu_ns "$TMPDIR/back.zones" && fail "without scheduling, a zone says how long it was off the CPU"
exit 0
