"""Compares the stacks of tests/workloads/JavaChains.java with what it says of them.

usage: java_chains.py exact|some|inlined FOLDED STATS CHAINS MAJOR

  exact    each stack is one of the chains, and all chains are there
  some     each stack is one of the chains
  inlined  of a stack, some methods may be missing: they are inlined into others
  MAJOR    of the JVM's version

Prints a line of JSON, with how many samples are right and wrong, and then the chains that are wrong or missing. Fails where one is
wrong or missing, too few are right, or not 99.5 % of the samples have frames of Java. Chains that lack inlined methods are wrong
where there are more of them than the account says: the code of these may be replaced before its metadata are read.

Between the methods of a chain there may be what the JVM hides, as lambda forms, and behind the last one what this calls: only names
that the program writes are compared, up to the last one that begins with "leaf". A stack of main's that never comes to one is the
begin of a chain, but for methods that call themselves, and while calls are linked; one of which a part is missing says nothing.

Where JDK 8 calculates powers, logarithms and the like, its compiled code moves the stack pointer, and nothing says by how much: stacks
that end there are counted apart.
"""
import collections
import json
import re
import sys

from runtime_account import read_runtime

kind, folded, stats, chains_path, major = sys.argv[1:]
chains = {tuple(line.rstrip("\n").split(":")) for line in open(chains_path, encoding="utf-8")}
names_of_chains = {name for chain in chains for name in chain}
leaves = {chain[-1] for chain in chains}
begins = {chain[:length] for chain in chains for length in range(len(chain) + 1)}
MAIN = "JavaChains.main"
# Goes deeper than where it calls a leaf.
RECURSIVE = "JavaChains.fail"
# Links calls of lambdas, methods and the like when they are first come to, and runs much of the JDK for that.
LINKING = ("java.lang.invoke.", "java.lang.reflect.", "jdk.internal.", "sun.")


def is_part(part, whole):
    rest = iter(whole)
    return all(name in rest for name in part)


def is_right(names):
    if kind != "inlined":
        return names in chains
    return any(is_part(names, chain) for chain in chains if chain[-1] == names[-1])


def is_part_of_none(names, frames):
    return (kind == "exact" and MAIN in frames and RECURSIVE not in frames and names not in begins
            and not any(frame.startswith(LINKING) for frame in frames))


# Compiled code is described at some of its instructions only: between two that are, those of a method and of what is inlined into it are
# one with the other. There the innermost levels, which are inlined, may be of a method that has not begun.
def is_right_but_for_inlined(names, marks):
    while names and marks[-1]:
        names, marks = names[:-1], marks[:-1]
        if names in begins:
            return True
    return False


right = collections.Counter()
not_begun = collections.Counter()
lacking = collections.Counter()
wrong = collections.Counter()
num_partial = 0
num_unknown = 0
for line in open(folded, encoding="utf-8"):
    stack, _, count = line.rpartition(" ")
    marked = stack.split(";")[1:]
    frames = [re.sub(r"_\[[a-z]\]$", "", frame) for frame in marked]
    last = max((i for i, frame in enumerate(frames) if frame in leaves), default=-1)
    if "[truncated]" in frames and last < 0:
        continue
    if "[truncated]" in frames:
        if major == "8" and frames[last] == "JavaChains.leafMath":
            num_unknown += int(count)
        else:
            num_partial += int(count)
        continue
    end = last + 1 if last >= 0 else len(frames)
    places = [i for i in range(end) if frames[i] in names_of_chains]
    names = tuple(frames[i] for i in places)
    if last < 0 and not is_part_of_none(names, frames):
        continue
    if last >= 0 and is_right(names):
        right[names] += int(count)
    elif (all(frame.endswith("_[i]") for frame in marked[end:])
          and is_right_but_for_inlined(names, [marked[i].endswith("_[i]") for i in places])):
        not_begun[names] += int(count)
    # Of a chain that had not got to its last method, each could be the last one.
    elif any(is_part(names, chain) for chain in chains if last < 0 or chain[-1] == names[-1]):
        lacking[names] += int(count)
    else:
        wrong[names] += int(count)

runtime, least_fits = read_runtime(stats, "jvm")
missing = chains - set(right) if kind == "exact" else {}
print(json.dumps({"of": runtime, "right": sum(right.values()), "wrong": sum(wrong.values()), "not_begun": sum(not_begun.values()),
                  "lacking": sum(lacking.values()), "partial": num_partial, "unknown": num_unknown}))
print(f"{len(right)} chains of {len(chains)}")
for what, counts in (("wrong", wrong), ("lacking", lacking), ("not begun", not_begun)):
    for names, count in counts.most_common(20):
        print(f"{what}: {count} {':'.join(names)}")
for names in sorted(missing):
    print(f"missing: {':'.join(names)}")
assert len(chains) >= 50, "the program has written too few chains"
assert sum(lacking.values()) <= runtime["may_lack_inlined"], "chains lack inlined methods, and the account does not say so"
assert not wrong and not missing and sum(right.values()) > 500
assert num_partial <= 0.01 * sum(right.values())
assert sum(not_begun.values()) <= 0.002 * sum(right.values())
assert runtime["version"].split(".")[0] == major
assert runtime["fits"] >= least_fits
