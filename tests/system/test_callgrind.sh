#!/bin/bash
# What callgrind recorded is read as its own reader reads it: every function costs itself the same,
# for every event, and so does what one costs with all that it calls, unless it calls itself.
# A probe that another test sets in malloc() would end a program under valgrind: it translates the
# probe's instruction too.
# runs: in turn
. "$(dirname "$0")/lib.sh"
need_command valgrind
need_command callgrind_annotate
need_command python3

seq 300 | sed 's/\(.*\)\(.\)/\2 \1/' >"$TMPDIR/in"
valgrind -q --tool=callgrind --cache-sim=yes --dump-instr=yes --collect-jumps=yes \
    --callgrind-out-file="$TMPDIR/callgrind.out" sort -k2 "$TMPDIR/in" >/dev/null ||
    fail "valgrind could not record"
cp "$TMPDIR/callgrind.out" "$TMPDIR/x.bin"

cat >"$TMPDIR/compare.py" <<'PYTHON'
import collections, re, subprocess, sys

recorded, program = sys.argv[1:]

def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

# "1,234 (5.6%)  dir/file.c:function [object]"; inlined code is a row of its own, within the others
# where costs are inclusive.
def annotated(event, combine, *options):
    costs = collections.Counter()
    for line in run("callgrind_annotate", "--auto=no", "--threshold=100", f"--show={event}",
                    f"--sort={event}", *options, recorded).splitlines():
        found = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+(.*?)(?: \[[^]]*\])?$", line)
        if found and found[2] != "PROGRAM TOTALS":
            name = found[2].split(":", 1)[-1]
            costs[name] = combine(costs[name], int(found[1].replace(",", "")))
    return costs

def converted(event):
    self, total = collections.Counter(), collections.Counter()
    for line in run(program, "convert", recorded, "-q", "--root", "none", "--metric", event, "--to",
                    "folded", "-o", "-").splitlines():
        stack, cost = line.rsplit(" ", 1)
        names = stack.split(";")
        self[names[-1]] += int(cost)
        for name in set(names):
            total[name] += int(cost)
    return self, total

for event in ["Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw"]:
    self, total = converted(event)
    wanted = annotated(event, int.__add__)
    assert sum(wanted.values()) > 0, event
    differing = {n for n in set(wanted) | set(self) if wanted[n] != self[n]}
    assert not differing, (event, [(n, wanted[n], self[n]) for n in differing][:5])

self, total = converted("Ir")
inclusive = annotated("Ir", max, "--inclusive=yes")
same = sum(total[name] == cost for name, cost in inclusive.items())
print(f"{same} of {len(inclusive)} functions have the same cost with all that they call")
assert same > 0.8 * len(inclusive), [(n, c, total[n]) for n, c in inclusive.items() if c != total[n]]
PYTHON
python3 "$TMPDIR/compare.py" "$TMPDIR/x.bin" "$STACKWIDE" || fail "costs differ"
