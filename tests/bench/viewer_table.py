"""The lines of viewer.js as a table: a row for each page and file, ratios where there are two."""
import json
import os
import sys

STEPS = ("select", "direction", "filter", "filtered callers", "search", "clear")
HEAD = f"{'stacks':>8}  {'page':<11} {'drop to picture':>15} {'CPU time':>10} {'memory':>8}  " + "  ".join(
    f"{step:>{max(len(step), 6)}}" for step in STEPS)


def show(value, unit, width, digits=0):
    text = f"{value:,.{digits}f} {unit}" if isinstance(value, (int, float)) else "-"
    return f"{text:>{width}}"


def main():
    load = os.getloadavg()[0]
    print(f"viewer in headless Chromium, {os.cpu_count()} CPUs, load {load:.1f} at the beginning; "
          "milliseconds, memory in sizes of the file")
    print(HEAD)
    ours = {}
    for line in sys.stdin:
        got = json.loads(line)
        stacks = got["file"].split(".")[0]
        if "drop" not in got:
            print(f"{stacks:>8}  {got['page']:<11} {got['failure']}")
            continue
        row = (f"{stacks:>8}  {got['page']:<11} {show(got['drop'], 'ms', 15)} {show(got['cpu'], 'ms', 10)} "
               f"{show(got['memory'], 'x', 8, 1)}  ")
        row += "  ".join(show(got.get(step), "", max(len(step), 6) + 1).rstrip().rjust(max(len(step), 6))
                         for step in STEPS)
        if got["page"] == "stackwide":
            ours[stacks] = got["drop"]
        elif stacks in ours:
            row = row.rstrip(" -") + f"  {got['drop'] / ours[stacks]:.1f} times ours"
        print(row, flush=True)


main()
