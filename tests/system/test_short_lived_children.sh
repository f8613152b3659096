#!/bin/bash
# Children of a command that live for a millisecond or two are sampled for as long as they run: the
# samples are the CPU time that the command and its children used, by the kernel's account.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# Beside them runs burn: its samples tell how many ticks come in a second of CPU time, where the machine
# misses some. `times` says what whoever has ended used, first without burn, then with it.
cp "$WORKLOADS/burn" "$TMPDIR/burn_beside"
cat >"$TMPDIR/children.sh" <<'END'
"$1/burn_beside" 600 &
i=0
while [ $i -lt 800 ]; do /bin/true; i=$((i + 1)); done
times >"$1/times"
kill $!
wait
times >>"$1/times"
END
record -F 1999 -o "$TMPDIR/children.folded" -- dash "$TMPDIR/children.sh" "$TMPDIR"

# "0m0.050000s 0m0.120000s" of the shell, then of its children.
read -r own children _ both < <(awk '{
    for (i = 1; i <= 2; i++) { split($i, part, "[ms]"); sum += part[1] * 60 + part[2] }
    printf "%d ", sum * 1000; sum = 0
} END { print "" }' "$TMPDIR/times")
burn_ms=$((both - children))
burn_samples=$(folded_count "$TMPDIR/children.folded" burn_beside)
((burn_ms >= 100 && burn_samples >= 100)) || fail "burn has $burn_samples samples of $burn_ms ms"
# sampled_ms NAME
sampled_ms() { echo $(($(folded_count "$TMPDIR/children.folded" "$1") * burn_ms / burn_samples)); }
of_shell=$(sampled_ms dash)
of_children=$(sampled_ms true)
echo "shell: $own ms by the kernel, $of_shell ms by samples; children: $children ms, $of_children ms;" \
    "burn: $burn_ms ms, $burn_samples samples"
# What a child does before its exec still has the shell's name, and counts as the child's.
expect_between "sampled share of the CPU time" \
    "$(((of_shell + of_children) * 100 / (own + children)))" 80 120
expect_between "sampled share of the children's" "$((of_children * 100 / children))" 50 120
((of_shell > own / 2)) || fail "the shell has $of_shell ms of its $own ms"
