#!/bin/bash
# Figures of the benchmarks are judged by their goals, and come into the tables of README and of the benchmarks.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_command python3

export BENCH_ROWS=$TMPDIR/rows
. "$REPO/tests/bench/rows.sh"

# expect_verdict VERDICT OURS PEERS GOAL
expect_verdict() {
    keep "figure $2 $3 $4" ms "$2" "$3" "$4"
    [[ $verdict = "$1" ]] || fail "$2 beside $3, \"$4\": \"$verdict\""
}
expect_verdict met 60 - "at most 60 ms"
expect_verdict MISSED 60.1 - "at most 60 ms"
expect_verdict met 2.500 - "at most 2.5 us, whatever follows 1"
expect_verdict met 99.0 - "at least 99 %"
expect_verdict MISSED 98.99 - "at least 99 %"
expect_verdict met 0 - "at most 0 samples"
expect_verdict MISSED 1 - "at most 0 samples"
expect_verdict met 1 2 "ratio at most 0.5"
expect_verdict MISSED 1.1 2 "ratio at most 0.5"
# What is no figure or has no goal is not judged.
expect_verdict '' - 2 "ratio at most 0.5"
expect_verdict '' 1 - "ratio at most 0.5"
expect_verdict '' - - "at most 1"
expect_verdict '' 7 9 -
[[ $num_goals = 9 && ${#missed[@]} = 4 ]] || fail "$num_goals goals, ${#missed[@]} missed"
print_missed >"$TMPDIR/missed"
has_line '4 of 9 goals missed' <"$TMPDIR/missed" || fail "$(cat "$TMPDIR/missed")"

expect_status 1 "$REPO/tests/bench/goals" "$BENCH_ROWS"
has_line '4 of 9 goals missed' <"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
has_line 'test_bench_goals.sh: figure 1.1 2 .* 1.1 ms  *2 ms  *0.550  *ratio at most 0.5 MISSED' <"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
grep -v MISSED "$BENCH_ROWS" >"$TMPDIR/met"
"$REPO/tests/bench/goals" "$TMPDIR/met" >"$TMPDIR/out" || fail "nothing was missed"
: >"$TMPDIR/empty"
expect_status 1 "$REPO/tests/bench/goals" "$TMPDIR/empty"

# A row that was measured is written anew, all others stay.
printf 'run\tstartup to first sample (perf: all but 100 ms)\tms\t118\t%s\t0.119\t-\t-\n' 991.6 >"$TMPDIR/rows"
printf 'waiting\ta switch, record -a --off-cpu\tns\t2960.4\t2500\t1.184\t-\t-\n' >>"$TMPDIR/rows"
printf 'run\twritten, compilers\tMB\t3.5\t%s\t0.07\t-\t-\n' 50.04 >>"$TMPDIR/rows"
cp "$REPO/README.md" "$REPO/packaging/docs/benchmarks.md" "$TMPDIR"
documents=("$TMPDIR/README.md" "$TMPDIR/benchmarks.md")
"$REPO/scripts/readme-figures" "$TMPDIR/rows" "${documents[@]}" >"$TMPDIR/out"
has_line -F '| start to first sample | 118 ms | 992 ms (`perf record -a -g`) |' <"$TMPDIR/benchmarks.md" || fail "start is not in the benchmarks"
# A row that two documents have is written into both.
for document in "${documents[@]}"; do
    has_line -F '| bytes written | 3.5 MB | 50.0 MB |' <"$document" || fail "bytes are not in $document"
done
! has_line 'start to first sample:' <"$TMPDIR/out" || fail "said: $(cat "$TMPDIR/out")"
# A row is whole or stays: of that wait its share is missing.
has_line -F '`stackwide record -a --off-cpu`: not measured (' <"$TMPDIR/out" || fail "said: $(cat "$TMPDIR/out")"
[[ $(diff "$REPO/README.md" "$TMPDIR/README.md" | grep -c '^>') -le 1 ]] || fail "other rows of README were changed"
[[ $(diff "$REPO/packaging/docs/benchmarks.md" "$TMPDIR/benchmarks.md" | grep -c '^>') -le 2 ]] || fail "other rows of the benchmarks were changed"
! has_line 'no such row' <"$TMPDIR/out" || fail "the documents lack a row: $(cat "$TMPDIR/out")"
