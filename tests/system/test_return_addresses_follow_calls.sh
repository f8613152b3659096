#!/bin/bash
# In whole stacks of stock programs every return address is preceded by a call instruction.
# runs: beside others
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
    record -q -F 1999 --check-calls --stats "$TMPDIR/stats.json" -o "$TMPDIR/out.folded" -- "$@" \
        >/dev/null
    checked=$(stats_get "$TMPDIR/stats.json" call_check.checked)
    failed=$(stats_get "$TMPDIR/stats.json" call_check.failed)
    echo "$name: $checked return addresses, $failed without a call"
    ((failed == 0)) || fail "$name: $failed of $checked return addresses do not follow a call"
    ((checked >= least)) || fail "$name: only $checked return addresses were seen"
}

# Every load runs for half a second or longer, and shows several times as many as are asked for.
check_load gcc 200 bash -c 'end=$((SECONDS + 1))
while ((SECONDS < end)); do gcc -O2 -c -o /dev/null -x c++ "$1"; done' - "$TMPDIR/load.cc"
check_load python 40 python3 -c 'import json, time
end = time.monotonic() + 0.6
while time.monotonic() < end: json.loads(json.dumps([{"a": 1, "b": [1, 2, 3] * 10}] * 500))'
check_load perl 15 perl -e 'my $end = time + 2; my %words; sub f { my ($n, $text) = @_;
$words{join "-", sort map { sprintf "%03d%s", $_, $text } 1 .. 20}++; $text =~ s/(\w)(\d+)/$2$1/g;
return $n < 2 ? $n : f($n - 1, "a$n") + f($n - 2, "$text$n") } f(8, "x") while time < $end'
check_load node 50 node -e 'let e = Date.now() + 600;
while (Date.now() < e) JSON.parse(JSON.stringify({a: [1, 2, 3], b: "xx".repeat(1000)}))'
# One process: children that live for a millisecond are rarely met.
check_load bash 50 bash -c 'words=() end=$((SECONDS + 1))
f() { local text="$2-$1"; text=${text//[0-9]/x$1} words[$1]=${text:0:20}
    [[ $text == *x* ]] && case $text in a*) : ;; *) ((n += $1)) ;; esac
    (($1 < 1)) || { f $(($1 - 1)) "$text"; f $(($1 - 1)) "${text^^}"; }; }
while ((SECONDS < end)); do f 5 start; done'
