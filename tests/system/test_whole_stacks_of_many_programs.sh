#!/bin/bash
# User stacks are whole while many programs run at once: shells that fork, an interpreter, stripped
# tools of the system, programs without frame pointers.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

# The programs that burn run until they have used so much CPU time, the others as long as one of them.
cat >"$TMPDIR/load.sh" <<'END'
fork_without_exec() {
    while kill -0 $last 2>/dev/null; do
        text=
        for ((i = 0; i < 200; i++)); do
            text+=" $((i * 7919 % 1000))"
        done
        words=$(for word in $text; do echo "${word/1/one}"; done | while read -r line; do echo "$line"; done)
    done
}
run_tools() {
    while kill -0 $last 2>/dev/null; do
        seq 2000 | awk '{ sum += $1 * $1 % 7 } END { print sum }'
        seq 5000 | gzip | gzip -d | sed 's/1/one/g' | sort -r
    done
}
for program in burn nofp_deep nofp_signal threads; do
    "$WORKLOADS/$program" 0.7 &
done
last=$!
fork_without_exec &
run_tools
wait
END
# No table is taken from the cache: the first run on a machine is the hardest.
record -F 499 --no-inline --no-cache -o "$TMPDIR/many.folded" --stats "$TMPDIR/many.json" -- \
    bash "$TMPDIR/load.sh" >/dev/null
expect_account_adds_up "$TMPDIR/many.json"
figure whole_stacks "$(whole_share "$TMPDIR/many.json")"
expect_whole "$TMPDIR/many.folded" "$TMPDIR/many.json" "many programs" 99.8
samples=$(count_user_stacks "$TMPDIR/many.json")
((samples >= 1000)) || fail "only $samples user stacks, expected at least 1000"
