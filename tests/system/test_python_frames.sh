#!/bin/bash
# Frames of Python are in the stacks of the processes that run it: the functions that called each other, as the program
# itself says, whatever the interpreter did in between; from the first samples on, and on each version that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/python.sh"
need_recording

# expect_chains NAME PYTHON OPTION…: of all stacks that end in a function of the program, the functions of Python are those that it says.
expect_chains() {
    local name=$1 python=$2
    shift 2
    record -F 999 -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- "$python" "$@" "$(dirname "$0")/../workloads/python_chains.py" 1.5 >"$TMPDIR/chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    "$python" - "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$TMPDIR/chains" <<'PYTHON' || fail "$name: $(cat "$TMPDIR/record.err")"
import collections, json, sys
runtime, = json.load(open(sys.argv[2]))["runtimes"]
print(runtime)
expected = collections.defaultdict(list)
for line in open(sys.argv[3]):
    names = line.rstrip().split(":")
    expected[names[-1]].append(names)
functions = {name for chains in expected.values() for names in chains for name in names}
right = collections.Counter()
wrong = collections.Counter()
num_unknown = 0
for line in open(sys.argv[1]):
    stack, _, count = line.rpartition(" ")
    frames = stack.split(";")[1:]
    if "use_time" not in frames or "[truncated]" in stack:
        continue
    # A code object that could not be read in that moment, as the kernel was just moving its page.
    if "[unknown]" in frames:
        num_unknown += int(count)
        continue
    # What is called on the way to it: imports and the like have chains of their own.
    names = [name for name in frames[:frames.index("use_time")] if name in functions]
    counts = right if names in expected[names[-1]] else wrong
    counts[":".join(names)[:150]] += int(count)
print(f"{sum(right.values())} right in {len(right)} chains of {sum(map(len, expected.values()))}, wrong: {wrong}, "
      f"{num_unknown} with what could not be read")
assert not wrong and len(right) == sum(map(len, expected.values())) and sum(right.values()) > 500
assert num_unknown <= 0.005 * sum(right.values())
assert runtime["version"] == "%d.%d" % sys.version_info[:2]
assert runtime["fits"] >= 0.995 * (runtime["samples"] - runtime["early"] - runtime["outside"])
PYTHON
}

num_pythons=0
while read -r version python; do
    num_pythons=$((num_pythons + 1)) last_python=$python last_version=$version
    expect_chains "python$version" "$python"
    # Each function has a piece of generated code of its own then: in its place is the function, but where it has not begun
    # or is over.
    if [[ $version = 3.1[2-9] ]]; then
        expect_chains "perf$version" "$python" -X perf
        expect_between "samples with pieces of generated code" "$(folded_match "$TMPDIR/perf$version.folded" 'py::')" 0 \
            $(($(folded_total "$TMPDIR/perf$version.folded") / 50))
    fi
done < <(list_pythons)
((num_pythons)) || skip "needs python3 (package python3), which is not installed"

# Whose frames a recording would have.
start "$last_python" -c 'import sys, time; open(sys.argv[1], "w"); time.sleep(100)' "$TMPDIR/runs"
wait_until test -e "$TMPDIR/runs"
"$STACKWIDE" doctor >"$TMPDIR/doctor" || true
grep -q "^ok  *interpreters  *Python ${last_version//./\\.} in [0-9]* process.*[0-9] python" "$TMPDIR/doctor" ||
    fail "the doctor does not see Python $last_version: $(cat "$TMPDIR/doctor")"
