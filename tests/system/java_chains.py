"""Compares the stacks of tests/workloads/JavaChains.java with what it says of them.

usage: java_chains.py exact|inlined FOLDED STATS CHAINS MAJOR

  exact    each stack is one of the chains, and all chains are there
  inlined  of a stack, some methods may be missing: they are inlined into others
  MAJOR    of the JVM's version

Prints a line of JSON, with how many samples are right and wrong, and then the chains that are wrong or missing. Fails where one is
wrong or missing, too few are right, or not 99.5 % of the samples have frames of Java.

Between the methods of a chain there may be what the JVM hides, as lambda forms, and behind the last one what this calls: only names
that the program writes are compared, up to the last one that begins with "leaf". A stack that never comes to one, or of which a
part is missing, says nothing.
"""
import collections
import json
import re
import sys

kind, folded, stats, chains_path, major = sys.argv[1:]
chains = {tuple(line.rstrip("\n").split(":")) for line in open(chains_path, encoding="utf-8")}
names_of_chains = {name for chain in chains for name in chain}
leaves = {chain[-1] for chain in chains}


def is_part(part, whole):
    rest = iter(whole)
    return all(name in rest for name in part)


def is_right(names):
    if kind == "exact":
        return names in chains
    return any(is_part(names, chain) for chain in chains if chain[-1] == names[-1])


right = collections.Counter()
wrong = collections.Counter()
num_partial = 0
for line in open(folded, encoding="utf-8"):
    stack, _, count = line.rpartition(" ")
    frames = [re.sub(r"_\[[a-z]\]$", "", frame) for frame in stack.split(";")[1:]]
    last = max((i for i, frame in enumerate(frames) if frame in leaves), default=-1)
    if last < 0:
        continue
    if "[truncated]" in frames:
        num_partial += int(count)
        continue
    names = tuple(frame for frame in frames[:last + 1] if frame in names_of_chains)
    (right if is_right(names) else wrong)[names] += int(count)

runtime, = json.load(open(stats))["runtimes"]
missing = chains - set(right) if kind == "exact" else {}
print(json.dumps({"of": runtime, "right": sum(right.values()), "wrong": sum(wrong.values()), "partial": num_partial}))
print(f"{len(right)} chains of {len(chains)}")
for names, count in wrong.most_common(20):
    print(f"wrong: {count} {':'.join(names)}")
for names in sorted(missing):
    print(f"missing: {':'.join(names)}")
assert len(chains) >= 50, "the program has written too few chains"
assert not wrong and not missing and sum(right.values()) > 500
assert num_partial <= 0.01 * sum(right.values())
assert runtime["name"] == "jvm" and runtime["version"].split(".")[0] == major
assert runtime["fits"] >= 0.995 * (runtime["samples"] - runtime["early"] - runtime["outside"])
