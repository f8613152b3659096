"""Compares the stacks of tests/workloads/perl_chains.pl with what it says of them.

usage: perl_chains.py SPEEDSCOPE STATS CHAINS VERSION

In all stacks in which time is used, those who have called that are one of its chains, with their lines; all chains are there. Prints a
line of JSON with what became of them, and then what is wrong or missing. Fails where one is wrong, too few are right, or not 99.5 % of
the samples have frames.
"""
import collections
import json
import sys

from runtime_account import read_runtime

speedscope, stats, chains, version = sys.argv[1:]
runtime, least_fits = read_runtime(stats, "perl")
expected = {line.rstrip("\n") for line in open(chains, encoding="utf-8")}
names = {level.rpartition(" @")[0] for chain in expected for level in chain.split(";")}
profile = json.load(open(speedscope, encoding="utf-8"))
frames = profile["shared"]["frames"]
right = collections.Counter()
wrong = collections.Counter()
for samples in profile["profiles"]:
    for stack in samples["samples"]:
        stack = [frames[frame] for frame in stack]
        levels = [frame["name"] for frame in stack]
        if "main::use_time" not in levels or "[truncated]" in levels:
            continue
        chain = ";".join(f'{frame["name"]} @{frame.get("line", 0)}'
                         for frame in stack[:levels.index("main::use_time")] if frame["name"] in names)
        (right if chain in expected else wrong)[chain] += 1
missing = expected - set(right)
total = sum(right.values())
print(json.dumps({"of": runtime, "right": total, "wrong": sum(wrong.values()), "chains": len(right), "expected_chains": len(expected)}))
for chain, count in wrong.most_common(10):
    print(f"wrong, {count}: {chain[:400]}")
for chain in sorted(missing):
    print(f"missing: {chain[:400]}")
assert not wrong and not missing and total > 500
assert runtime["version"] == version
# Some recordings have 10 to 13 samples that do not fit, others none: so many, whatever its length, so they are no share.
assert runtime["fits"] >= least_fits - 10
