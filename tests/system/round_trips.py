"""Convert each of some files, of one recording in several formats, to the format of each other, and compare all stacks of all threads
and metrics. Exits with 1 where one differs.

usage: round_trips.py STACKWIDE FILE...
"""
import concurrent.futures
import json
import os
import subprocess
import sys

program, files = sys.argv[1], sys.argv[2:]


def run(*arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def read_stacks(path):
    """By metric and unit: weights by stack, with process and thread in front. Where there was nothing of a metric, formats without a
    table of them do not have it."""
    stacks = {}
    for metric in json.loads(run("report", "-q", path, "--json"))["metrics"]:
        if not metric["total"]:
            continue
        lines = run("convert", "-q", path, "--metric", metric["name"], "--root", "tid", "-o", "-", "--to", "folded").splitlines()
        stacks[metric["name"], metric["unit"]] = dict(line.rsplit(" ", 1) for line in lines)
    return stacks


def compare(first, second):
    """What differs, a line each."""
    lines = [f"no {metric}" for metric in first.keys() ^ second.keys()]
    for metric in first.keys() & second.keys():
        other = first[metric].items() ^ second[metric].items()
        if other:
            lines.append(f"{metric}: {len(other)} stacks of {len(first[metric])}: {sorted(other)[:2]}")
    return lines


def convert(pair):
    source, target = pair
    path = f"from-{source.replace('.', '-')}-to-{target}"
    run("convert", "-q", source, "-o", path)
    return compare(stacks[source], read_stacks(path))


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
    stacks = dict(zip(files, executor.map(read_stacks, files)))
    pairs = [(source, target) for source in files for target in files]
    differences = dict(zip(pairs, executor.map(convert, pairs)))
whole = next(path for path in files if path.endswith(".html"))
for path in files:
    # The sums of waits are not made of a trace whose clock is an event of -e.
    if not path.endswith(".pftrace"):
        differences[whole, f"{path} itself"] = compare(stacks[whole], stacks[path])
names = {stack.split(";", 1)[0] for stack in stacks[whole]["cpu-clock", "nanoseconds"]}
for name in "second name-", "python3-", "node-":
    if not any(root.startswith(name) for root in names):
        differences[name, "is missing"] = sorted(names)
print(len(pairs), "conversions of", {metric[0]: len(of) for metric, of in stacks[whole].items()})
wrong = {pair: lines for pair, lines in differences.items() if lines}
for (source, target), lines in wrong.items():
    print(f"{source} -> {target}:", *lines, sep="\n    ")
sys.exit(bool(wrong))
