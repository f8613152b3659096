#!/bin/bash
# In whole stacks of stock programs every return address is preceded by a call instruction.
source "$(dirname "$0")/lib.sh"
need_recording

cat >"$TMPDIR/load.cc" <<'CPP'
#include <map>
#include <string>
std::map<std::string, int> table;
int run(const std::string &text) { return table[text]++; }
CPP

# check_load NAME LEAST COMMAND…: at least LEAST return addresses, all after a call.
check_load() {
    local name=$1 least=$2 checked failed
    shift 2
    if ! command -v "$1" >/dev/null; then
        echo "$name: not installed"
        return
    fi
    record -q -F 999 --check-calls --stats "$TMPDIR/stats.json" -o "$TMPDIR/out.folded" -- "$@" \
        >/dev/null
    checked=$(stats_get "$TMPDIR/stats.json" call_check.checked)
    failed=$(stats_get "$TMPDIR/stats.json" call_check.failed)
    echo "$name: $checked return addresses, $failed without a call"
    ((failed == 0)) || fail "$name: $failed of $checked return addresses do not follow a call"
    ((checked >= least)) || fail "$name: only $checked return addresses were seen"
}

check_load gcc 100 gcc -O2 -c -o /dev/null -x c++ "$TMPDIR/load.cc"
check_load python 30 python3 -c 'import json
for i in range(40): json.loads(json.dumps([{"a": i, "b": [1, 2, 3] * 10}] * 2000))'
check_load perl 8 perl -e 'sub f { my $n = shift; return $n < 2 ? $n : f($n - 1) + f($n - 2) } f(26)'
check_load node 50 node -e 'let e = Date.now() + 800;
while (Date.now() < e) JSON.parse(JSON.stringify({a: [1, 2, 3], b: "xx".repeat(1000)}))'
check_load bash 10 bash -c 'for i in {1..1500}; do x=$(echo $i); done'
