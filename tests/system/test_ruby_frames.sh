#!/bin/bash
# Frames of Ruby are in the stacks of the processes that run it: the methods and blocks that called each other, and what is in C
# between them, with the lines that they were at, as the program itself says; on each version that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/ruby.sh"
need_recording
need_command python3

# expect_chains NAME VERSION COMMAND…: it reads the program from its input, as it may have another root.
expect_chains() {
    local name=$1 version=$2
    shift 2
    record -F 1999 -o "$TMPDIR/$name.speedscope.json" --stats "$TMPDIR/$name.json" -- \
        "$@" -W0 - 1.5 <"$(dirname "$0")/../workloads/ruby_chains.rb" >"$TMPDIR/chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    python3 -S "$(dirname "$0")/ruby_chains.py" "$TMPDIR/$name.speedscope.json" "$TMPDIR/$name.json" "$TMPDIR/chains" "$version" ||
        fail "$name: $(cat "$TMPDIR/record.err")"
}

num_rubies=0
while read -r version ruby; do
    num_rubies=$((num_rubies + 1)) last_ruby=$ruby last_version=$version
    read -ra command <<<"$ruby"
    expect_chains "ruby$num_rubies" "$version" "${command[@]}"
done < <(list_rubies)
((num_rubies)) || skip "needs ruby (package ruby), which is not installed"

# Whose frames a recording would have.
read -ra command <<<"$last_ruby"
start "${command[@]}" -e 'STDOUT.puts "runs"; STDOUT.flush; sleep 100' >"$TMPDIR/runs"
wait_until test -s "$TMPDIR/runs"
"$STACKWIDE" doctor >"$TMPDIR/doctor" || true
grep -q "^ok  *interpreters  *.*Ruby ${last_version//./\\.} in [0-9]* process" "$TMPDIR/doctor" ||
    fail "the doctor does not see Ruby $last_version: $(cat "$TMPDIR/doctor")"
