"""Compares the stacks of tests/workloads/ruby_chains.rb with what it says of them.

usage: ruby_chains.py SPEEDSCOPE STATS CHAINS VERSION

Each stack that has use_time in it is one of the chains up to there, with their lines; all chains are there that take time. What is in C
has a line in the chain, that of its caller, and none in the stack. Between the frames of Ruby there may be functions of C libraries: they
have names that the program does not have. Prints a line of JSON with what became of them, and then what is wrong. Fails where one is wrong,
too few are right, or not 99.5 % of the samples have frames.
"""
import collections
import json
import sys

from runtime_account import read_runtime

profile_path, stats_path, chains_path, version = sys.argv[1:]
chains = {}
labels = set()
for line in open(chains_path, encoding="utf-8"):
    levels = [tuple(level.rsplit(" @", 1)) for level in line.rstrip("\n").split(";")]
    labels.update(label for label, _ in levels)
    chains.setdefault(tuple(label for label, _ in levels), []).append(levels)


def is_right(shown):
    """Those of C have no line in the stack, and that of the next outer level in the chain."""
    for levels in chains.get(tuple(name for name, _ in shown), []):
        for i, ((_, line), (_, expected)) in enumerate(zip(shown, levels)):
            caller = levels[i - 1][1] if i else "0"
            if line != expected and not (line is None and expected == caller):
                break
        else:
            return True
    return False


def is_end(shown):
    names = tuple(name for name, _ in shown)
    return any(chain[len(chain) - len(names) :] == names for chain in chains)


profile = json.load(open(profile_path, encoding="utf-8"))
frames = [(frame["name"], str(frame["line"]) if "line" in frame else None) for frame in profile["shared"]["frames"]]
right = collections.Counter()
wrong = collections.Counter()
num_unknown = 0
for part in profile["profiles"]:
    for sample, weight in zip(part["samples"], part["weights"]):
        stack = [frames[i] for i in sample]
        names = [name for name, _ in stack]
        if "use_time" not in names:
            continue
        stack = stack[: names.index("use_time")]
        # What could not be read in that moment, as the kernel was just moving its page.
        if any(name == "[unknown]" and line for name, line in stack):
            num_unknown += weight
            continue
        shown = [frame for frame in stack if frame[0] in labels]
        counts = right if is_right(shown) else wrong
        # Native stacks of fibers are not known to end where they do. If the outer end of another one is missing, so are frames.
        if counts is wrong and "[truncated]" in names and is_end(shown):
            continue
        counts[";".join(f"{name} @{line}" for name, line in shown)] += weight
total = sum(right.values())
runtime, least_fits = read_runtime(stats_path, "ruby")
print(json.dumps({"of": runtime, "right": total, "wrong": sum(wrong.values()), "chains": len(right),
                  "expected_chains": sum(map(len, chains.values())), "unknown": num_unknown}))
for chain, weight in wrong.most_common(10):
    print(f"wrong: {weight} …{chain[-300:]}")
assert not wrong and total > 500
# By chance, some of those that take little time have no sample.
assert len(right) >= 0.5 * sum(map(len, chains.values()))
assert num_unknown <= 0.005 * total
assert runtime["version"] == version
assert runtime["fits"] >= least_fits
