#!/bin/bash
# A stripped program without call-frame information, as Chromium is one: its functions are known by
# where they start.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command clang
need_command ld.lld
need_command strip

# Twelve functions that use as much CPU time, and one that calls them: each until it has had its millisecond, as a
# processor adds to memory now in 4 cycles, now in 20.
{
    echo '#include "spin.h"'
    echo 'static volatile long sink;'
    for i in {1..12}; do
        echo "__attribute__((noinline)) long work_$i(long n) { for (long i = 0; i < n; i++) sink += i * $i; return sink; }"
    done
    echo 'int main(void) { uint64_t end = read_cpu_ns() + 2 * NS_PER_SECOND; while (read_cpu_ns() < end) {'
    for i in {1..12}; do echo "for (uint64_t start = read_cpu_ns(); read_cpu_ns() - start < 1000000;) work_$i(20000);"; done
    echo '} return 0; }'
} >"$TMPDIR/bare.c"
clang -std=gnu17 -O1 -D_GNU_SOURCE -I"$REPO/tests/workloads" -fuse-ld=lld -ffunction-sections -fno-omit-frame-pointer \
    -fno-asynchronous-unwind-tables -o "$TMPDIR/bare" "$TMPDIR/bare.c"
nm "$TMPDIR/bare" >"$TMPDIR/symbols"
strip "$TMPDIR/bare"

record -F 999 -o "$TMPDIR/bare.folded" --stats "$TMPDIR/bare.json" -- "$TMPDIR/bare"
expect_account_adds_up "$TMPDIR/bare.json"
for i in {1..12}; do
    name=$(awk -v name="work_$i" '$3 == name { sub(/^0+/, "", $1); print "bare+0x" $1 }' "$TMPDIR/symbols")
    share=$(folded_share "$TMPDIR/bare.folded" "$name" bare)
    echo "work_$i is $name: $share %"
    expect_between "share of $name" "$share" 5 12
    sum=$(awk -v sum="${sum:-0}" -v share="$share" 'BEGIN { print sum + share }')
done
expect_between "share of all of them" "$sum" 90 100
