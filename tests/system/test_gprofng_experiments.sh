#!/bin/bash
# What gprofng has recorded has the totals that gprofng itself displays: CPU time, allocations and
# leaks, of a process and its child, from the folder as from a tar archive of it.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_command gprofng

cd "$TMPDIR"
timeout 60 gprofng collect app -H on -F on -o a.er "$WORKLOADS/allocates" 0.5 >collect.log 2>&1 ||
    skip "gprofng cannot record here: $(tail -n 1 collect.log)"
gprofng display text -metrics e.totalcpu:e.heapallocbytes:e.heapalloccnt:e.heapleakbytes:e.heapleakcnt:name \
    -functions a.er >display.txt 2>&1 || skip "gprofng cannot display what it recorded"
# Seconds, bytes, allocations, bytes and leaks, as it prints them.
expected=$(awk '$NF == "<Total>" { print $1, $2, $3, $4, $5 }' display.txt)
read -r cpu _ <<<"$expected"
[[ -n $expected ]] || skip "gprofng displays no totals: $(tail -n 1 display.txt)"
awk "BEGIN { exit !($cpu > 0) }" || skip "gprofng took no sample"

# check INPUT
check() {
    local got
    "$STACKWIDE" report "$1" --json >report.json 2>report.err || fail "$1: $(cat report.err)"
    got=$(python3 - <<'PYTHON'
import json
totals = {m["name"]: m["total"] for m in json.load(open("report.json"))["metrics"]}
print("%.3f %d %d %d %d" % (totals["cpu"] / 1e9, totals["alloc"], totals["allocs"], totals["leak"],
                            totals["leaks"]))
PYTHON
    )
    [[ $got = "$expected" ]] || fail "$1: totals $got, gprofng displays $expected"
}

check a.er
tar -cf a.tar a.er
mv a.er b.er
check a.tar
printf '#analyzer experiment group\n%s\n' "$TMPDIR/b.er" >b.erg
check b.erg
# The child is an experiment in it.
[[ -d b.er/_f1.er ]] || fail "the child was not recorded"
