#!/bin/bash
# The calls of each BPF program together need no more stack, and are no deeper, than any kernel allows.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_command python3
objects=("$(dirname "$STACKWIDE")"/bpf/*.bpf.o)
[[ -s ${objects[0]} ]] || skip "this build has no BPF objects"

python3 "$(dirname "$0")/bpf_stack_depth.py" "${objects[@]}" >"$TMPDIR/depths"
expect_between "programs" "$(wc -l <"$TMPDIR/depths")" 20 200
while read -r bytes object program calls; do
    expect_between "bytes of stack of $program in $object with $calls" "$bytes" 32 512
    expect_between "calls from $program in $object on" "$(grep -o '(' <<<"$program $calls" | wc -l)" 1 8
done < <(sed -E 's/^([0-9]+ [^ ]+ [^ ]+) (\([0-9]+\))/\1\2/' "$TMPDIR/depths")
