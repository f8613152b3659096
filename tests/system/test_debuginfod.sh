#!/bin/bash
# A program that is gone, and what was stripped from it, come from a debuginfod server. (Its client
# can read a folder, too.)
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_command perf
need_command objcopy
ldconfig -p | has_line libdebuginfod.so.1 || skip "needs libdebuginfod (package libdebuginfod1), which is not installed"
cd "$TMPDIR"
cp "$WORKLOADS/deep" program
id=$(readelf -n program | sed -n 's/.*Build ID: *//p')
[[ -n $id ]] || skip "the compiler writes no build IDs"
perf record -q -F 499 -g -e cpu-clock -o perf.data -- ./program 0.2 >/dev/null 2>&1 ||
    skip "perf record is not permitted here, or does not work"

mkdir -p "server/buildid/$id"
objcopy --only-keep-debug program "server/buildid/$id/debuginfo"
objcopy --strip-all program "server/buildid/$id/executable"
rm program
export HOME=$TMPDIR/home DEBUGINFOD_CACHE_PATH=$TMPDIR/cache

# The recorder's build ID is in the file: by record, or by the list that perf makes at the end.
"$STACKWIDE" convert perf.data -q -o without.folded || fail "perf.data could not be read"
expect_between "share without a server" "$(folded_share without.folded level_65)" 0 0
DEBUGINFOD_URLS=file://$TMPDIR/server "$STACKWIDE" convert perf.data -q -o with.folded ||
    fail "perf.data could not be read with a server"
expect_between "share with a server" "$(folded_share with.folded level_65)" 80 100
