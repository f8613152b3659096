"""Compares the stacks of tests/workloads/python_chains.py with what it says of them.

usage: python_chains.py FOLDED STATS CHAINS VERSION

Of all stacks that end in a function of the program, the functions of Python are one of its chains; all chains are there. Prints a
line of JSON with what became of them, and then what is wrong or missing. Fails where one is wrong, too few are right, or not 99.5 % of
the samples have frames.
"""
import collections
import json
import sys

from runtime_account import read_runtime

folded, stats, chains, version = sys.argv[1:]
runtime, least_fits = read_runtime(stats, "cpython")
expected = {tuple(line.rstrip("\n").split(":")) for line in open(chains)}
functions = {name for names in expected for name in names}
right = collections.Counter()
wrong = collections.Counter()
num_unknown = 0
for line in open(folded):
    stack, _, count = line.rpartition(" ")
    frames = stack.split(";")[1:]
    if "use_time" not in frames or "[truncated]" in frames:
        continue
    # A code object that could not be read in that moment, as the kernel was just moving its page.
    if "[unknown]" in frames:
        num_unknown += int(count)
        continue
    # What is called on the way to it: imports and the like have chains of their own.
    names = tuple(name for name in frames[:frames.index("use_time")] if name in functions)
    (right if names in expected else wrong)[names] += int(count)
missing = expected - set(right)
total = sum(right.values())
print(json.dumps({"of": runtime, "right": total, "wrong": sum(wrong.values()), "chains": len(right), "expected_chains": len(expected),
                  "unknown": num_unknown}))
for names, count in wrong.most_common(10):
    print(f"wrong, {count}: {':'.join(names)[:400]}")
for names in sorted(missing):
    print(f"missing: {':'.join(names)[:400]}")
assert not wrong and not missing and total > 500
assert num_unknown <= 0.005 * total
assert runtime["version"] == version
assert runtime["fits"] >= least_fits
