#!/bin/bash
# Frames of Perl are in the stacks of the processes that run it: the subroutines that called each other and the lines that they
# are at, as caller() says in the program itself, whatever called them; on each version that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/perl.sh"
need_recording
need_command python3

# expect_chains VERSION COMMAND…: in all stacks in which time is used, those who have called that are as the program says.
expect_chains() {
    local version=$1 name=perl$1
    shift
    record -F 999 -o "$TMPDIR/$name.speedscope.json" --stats "$TMPDIR/$name.json" -- "$@" - 2 \
        <"$(dirname "$0")/../workloads/perl_chains.pl" >"$TMPDIR/$name.chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    python3 - "$TMPDIR/$name.speedscope.json" "$TMPDIR/$name.json" "$TMPDIR/$name.chains" "$version" <<'PYTHON' || fail "$name: $(cat "$TMPDIR/record.err")"
import collections, json, sys
runtimes = [runtime for runtime in json.load(open(sys.argv[2]))["runtimes"] if runtime["name"] == "perl"]
print(runtimes)
expected = {line.rstrip("\n") for line in open(sys.argv[3], encoding="utf-8")}
names = {level.rpartition(" @")[0] for chain in expected for level in chain.split(";")}
profile = json.load(open(sys.argv[1], encoding="utf-8"))
frames = profile["shared"]["frames"]
right = collections.Counter()
wrong = collections.Counter()
for samples in profile["profiles"]:
    for stack, weight in zip(samples["samples"], samples["weights"]):
        stack = [frames[frame] for frame in stack]
        levels = [frame["name"] for frame in stack]
        if "main::use_time" not in levels or "[truncated]" in levels:
            continue
        chain = ";".join(f'{frame["name"]} @{frame.get("line", 0)}'
                         for frame in stack[:levels.index("main::use_time")] if frame["name"] in names)
        (right if chain in expected else wrong)[chain] += 1
print(f"{sum(right.values())} right in {len(right)} chains of {len(expected)}, wrong: {wrong}")
print("not seen:", expected - set(right))
assert not wrong and expected == set(right) and sum(right.values()) > 500
runtime, = runtimes
assert runtime["version"] == sys.argv[4]
assert runtime["fits"] >= 0.995 * (runtime["samples"] - runtime["early"] - runtime["outside"])
PYTHON
}

num_perls=0
while read -r version perl; do
    num_perls=$((num_perls + 1))
    # shellcheck disable=SC2086 # a command has words
    expect_chains "$version" $perl
done < <(list_perls)
((num_perls)) || skip "needs Perl 5.32 to 5.40 with threads (package perl), which is not installed"
