#!/bin/bash
# Children of a command that live for a millisecond or two are sampled for as long as they run: the
# samples are the CPU time that the command and its children used, by the kernel's account.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

cat >"$TMPDIR/children.sh" <<'END'
i=0
while [ $i -lt 800 ]; do /bin/true; i=$((i + 1)); done
times >"$1"
END
record -F 1999 -o "$TMPDIR/children.folded" -- dash "$TMPDIR/children.sh" "$TMPDIR/times"

# "0m0.050000s 0m0.120000s" of the shell, then of its children.
read -r own children < <(awk '{
    for (i = 1; i <= 2; i++) { split($i, part, "[ms]"); sum += part[1] * 60 + part[2] }
    printf "%d ", sum * 1000; sum = 0
} END { print "" }' "$TMPDIR/times")
of_shell=$(($(folded_count "$TMPDIR/children.folded" dash) * 1000 / 1999))
of_children=$(($(folded_count "$TMPDIR/children.folded" true) * 1000 / 1999))
echo "shell: $own ms by the kernel, $of_shell ms by samples; children: $children ms, $of_children ms"
# What a child does before its exec still has the shell's name, and counts as the child's.
expect_between "sampled share of the CPU time" \
    "$(((of_shell + of_children) * 100 / (own + children)))" 85 110
expect_between "sampled share of the children's" "$((of_children * 100 / children))" 55 110
((of_shell > own / 2)) || fail "the shell has $of_shell ms of its $own ms"
