#!/bin/bash
# A forked child has its parent's mappings, and sleeping processes cost no samples
# but where they fall asleep and wake up.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

cp "$WORKLOADS/forks" "$TMPDIR/forks_alone"
record -F 3999 --root pid -o "$TMPDIR/command.folded" -- "$TMPDIR/forks_alone" 1
start_recording -F 3999 --root pid -o "$TMPDIR/all.folded"
"$TMPDIR/forks_alone" 1
stop_recording

for recording in command all; do
    file=$TMPDIR/own.folded
    grep '^forks_alone-' "$TMPDIR/$recording.folded" >"$file"
    expect_frame "$file" "main;parent_burn" 200
    expect_frame "$file" child_burn 200
    naps=$(folded_count "$file" sleeper_nap)
    ((naps < 20)) || fail "$naps samples hold 'sleeper_nap', which sleeps"
    parents=$(grep parent_burn "$file" | cut -d';' -f1 | sort -u)
    children=$(grep child_burn "$file" | cut -d';' -f1 | sort -u)
    [[ $parents = forks_alone-* && $children = forks_alone-* && $parents != "$children" ]] ||
        fail "parent is '$parents', child is '$children'"
done
