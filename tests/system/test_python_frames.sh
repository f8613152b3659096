#!/bin/bash
# Frames of Python are in the stacks of the processes that run it: the functions that called each other, as the program
# itself says, whatever the interpreter did in between; from the first samples on, and on each version that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/python.sh"
need_recording

# expect_chains NAME VERSION COMMAND…: of all stacks that end in a function of the program, the functions of Python are those that it says.
# It reads the program from its input, as it may have another root.
expect_chains() {
    local name=$1 version=$2
    shift 2
    record -F 1999 -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- "$@" - 0.75 \
        <"$(dirname "$0")/../workloads/python_chains.py" >"$TMPDIR/chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    python3 "$(dirname "$0")/python_chains.py" "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$TMPDIR/chains" "$version" ||
        fail "$name: $(cat "$TMPDIR/record.err")"
}

num_pythons=0
while read -r version python; do
    num_pythons=$((num_pythons + 1)) last_version=$version
    read -ra command <<<"$python"
    expect_chains "python$version" "$version" "${command[@]}"
    # Each function has a piece of generated code of its own then: in its place is the function, but where it has not begun
    # or is over.
    if [[ $version = 3.1[2-9] ]]; then
        expect_chains "perf$version" "$version" "${command[@]}" -X perf
        expect_between "samples with pieces of generated code" "$(folded_match "$TMPDIR/perf$version.folded" 'py::')" 0 \
            $(($(folded_total "$TMPDIR/perf$version.folded") / 50))
    fi
done < <(list_pythons)
((num_pythons)) || skip "needs python3 (package python3), which is not installed"

# Whose frames a recording would have.
start "${command[@]}" -c 'import time; print("runs", flush=True); time.sleep(100)' >"$TMPDIR/runs"
wait_until test -s "$TMPDIR/runs"
"$STACKWIDE" doctor >"$TMPDIR/doctor" || true
grep -q "^ok  *interpreters  *Python ${last_version//./\\.} in [0-9]* process.*[0-9] python" "$TMPDIR/doctor" ||
    fail "the doctor does not see Python $last_version: $(cat "$TMPDIR/doctor")"
