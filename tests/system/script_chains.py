"""Compare the chains of a recording with those that the program itself has printed.

usage: script_chains.py SPEEDSCOPE STATS CHAINS RUNTIME LEAF

A chain is the functions from the outermost to the innermost one, that which has called LEAF, with semicolons between them; each
has " @LINE" behind its name, unless it is one that has no lines. Chains of a stack begin where those of the program do. Prints a
line of JSON with what became of them, and then what is wrong or missing; of that it exits with 1.
"""
import collections
import json
import sys

from runtime_account import read_runtime

speedscope, stats, chains, name, leaf = sys.argv[1:]
runtime, least_fits = read_runtime(stats, name)
expected = {line.rstrip("\n") for line in open(chains)}
begins = {chain.split(";")[0].split(" @")[0] for chain in expected}
data = json.load(open(speedscope))
frames = data["shared"]["frames"]
right = collections.Counter()
wrong = collections.Counter()
num_unknown = 0
for profile in data["profiles"]:
    for sample, weight in zip(profile["samples"], profile["weights"]):
        names = [frames[frame]["name"] for frame in sample]
        if leaf not in names or not begins & set(names):
            continue
        weight = int(weight) if profile["unit"] == "none" else 1
        # A function that could not be read in that moment, as the kernel was just moving its page.
        if "[unknown]" in names:
            num_unknown += weight
            continue
        begin = next(i for i, one in enumerate(names) if one in begins)
        chain = ";".join(frames[frame]["name"] + (f" @{frames[frame]['line']}" if frames[frame].get("line") else "")
                         for frame in sample[begin:names.index(leaf)])
        (right if chain in expected else wrong)[chain] += weight
missing = expected - set(right)
print(json.dumps({"of": runtime, "right": sum(right.values()), "wrong": sum(wrong.values()), "chains": len(right),
                  "expected_chains": len(expected), "unknown": num_unknown}))
for chain, count in wrong.most_common(10):
    print(f"wrong, {count}: {chain[:400]}")
for chain in sorted(missing):
    print(f"missing: {chain[:400]}")
total = sum(right.values())
if wrong or missing or not total or num_unknown > 0.005 * total:
    sys.exit(1)
if runtime["fits"] < least_fits:
    sys.exit("fewer than 99.5 % of its samples fit")
