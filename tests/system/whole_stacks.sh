# shellcheck shell=bash
# Sourced by the tests of whole user stacks, after lib.sh: how many stacks go all the way to where
# their thread began, and which way the others went.
#
#   TEST_FREQUENCY=9999   samples per second of the programs whose chains are known: more stacks to be false

FREQUENCY=${TEST_FREQUENCY:-1999}

# What a --stats file has of user stacks, a line each: the share in percent of those that are complete,
# how many there are, the reasons why some were cut with their counts, and the rest in words.
# Samples taken inside execve are whole in the kernel: the old stack is gone, the new one has not begun.
# summarize_stacks STATS
summarize_stacks() {
    python3 - "$1" <<'PYTHON'
import json, sys
stats = json.load(open(sys.argv[1]))
stacks = stats["user_stacks"]
whole = stacks["complete"] + stacks["in_exec"]
number = whole + sum(stacks["truncated"].values())
print(f"{100 * whole / max(number, 1):.2f}")
print(number)
print(", ".join(f"{name} {count}" for name, count in stacks["truncated"].items() if count) or "none")
print(f"recovered {stacks['recovered']}, in exec {stacks['in_exec']},"
      f" processes {stats['processes']['forks']}, lost {sum(stats['lost'].values())}")
PYTHON
}

whole_share() { summarize_stacks "$1" | sed -n 1p; }
count_user_stacks() { summarize_stacks "$1" | sed -n 2p; }
list_reasons() { summarize_stacks "$1" | sed -n 3p; }
count_cut() { stats_get "$1" user_stacks.truncated; }

# The outermost frames of truncated user stacks; the most frequent first.
show_outermost() {
    sed -E 's/ ([0-9]+)$/;\1/' "$1" |
        awk -F';' '$2 == "[truncated]" {
            print $NF "\t" $1 ";" $3 ";" (NF > 4 ? $4 : "")
        }' | awk -F'\t' '{ sum[$2] += $1 } END { for (way in sum) print sum[way] "\t" way }' |
        sort -rn | head -n 12
}

# While the kernel copies a page of the stack, after a fork, the page is in no page table: nobody can read it.
# count_unreadable FOLDED
count_unreadable() { folded_match "$1" '^[^;]+;\[truncated\];.*;ptep_clear_flush_\[k\]'; }

# expect_whole FOLDED STATS WHAT GATE [GOAL]: GATE leaves room for a noisy machine, GOAL does not.
expect_whole() {
    local folded=$1 stats=$2 what=$3 gate=$4 goal=${5:-$4} share number reasons others unreadable
    { read -r share && read -r number && read -r reasons && read -r others; } < <(summarize_stacks "$stats")
    unreadable=$(count_unreadable "$folded")
    share=$(awk -v share="$share" -v number="$number" -v unreadable="$unreadable" 'BEGIN {
        readable = number - unreadable
        printf "%.2f", (share < 100 && readable > 0) ? share * number / readable : share
    }')
    echo "$what: $share % of $number user stacks, but for $unreadable that were being copied, are whole" \
        "(goal $goal %, gate $gate %); cut: $reasons; $others"
    awk -v share="$share" -v gate="$gate" 'BEGIN { exit !(share >= gate) }' || {
        show_outermost "$folded"
        fail "only $share % of the user stacks are whole in $what, expected $gate %"
    }
}

# Run a load twice at the same time, from its start to its end, and see that its stacks are whole.
# No table is taken from the cache: the first run on a machine is the hardest.
# expect_whole_load NAME GATE GOAL HZ COMMAND…: the command is to end after 2 s or so. On a machine that is
# busy with other things it runs again until it has used 1 s of CPU time.
expect_whole_load() {
    local name=$1 gate=$2 goal=$3 frequency=$4 samples
    shift 4
    cat >"$TMPDIR/load_twice.sh" <<'END'
repeat() {
    local i used_ms=0 file=$TMPDIR/times.$BASHPID
    for ((i = 0; i < 50 && used_ms < 1000; i++)); do
        "$@" >/dev/null 2>&1
        times >"$file"
        used_ms=$(awk 'NR == 2 {
            for (i = 1; i <= 2; i++) { split($i, part, "[ms]"); sum += part[1] * 60 + part[2] }
            printf "%d", sum * 1000
        }' "$file")
    done
}
repeat "$@" &
repeat "$@"
wait
END
    record -F "$frequency" --no-inline --no-cache -o "$TMPDIR/$name.folded" \
        --stats "$TMPDIR/$name.json" -- bash "$TMPDIR/load_twice.sh" "$@"
    expect_account_adds_up "$TMPDIR/$name.json"
    samples=$(count_user_stacks "$TMPDIR/$name.json")
    expect_whole "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$name" "$gate" "$goal"
    ((samples >= 2000)) || fail "only $samples user stacks of $name, expected at least 2000"
}

# Record one of the workloads; the profile is left in $TMPDIR/NAME.folded.
# record_walk NAME [ARGUMENT…]
record_walk() {
    local name=$1
    shift
    record -F "$FREQUENCY" --no-inline -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- \
        "$WORKLOADS/$name" "$@"
    expect_account_adds_up "$TMPDIR/$name.json"
    expect_whole "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$name" 97 99
}

# Every stack that matches an extended regular expression matches another one too, or says that it is
# truncated; no more than the account has may be so.
# expect_every_stack FOLDED REGEX WANTED
expect_every_stack() {
    local others cut
    others=$({ grep -E -- "$2" "$1" || true; } | { grep -Ev -- "$3" || true; })
    cut=$(echo "$others" | { grep -E '^[^;]+;\[truncated\];' || true; } | folded_total /dev/stdin)
    others=$(echo "$others" | { grep -Ev '^[^;]+;\[truncated\];|^$' || true; })
    [[ -z $others ]] || {
        echo "$others" | head -n 12
        fail "$(echo "$others" | folded_total /dev/stdin) samples that hold '$2' are not '$3'"
    }
    ((cut <= $(count_cut "${1%.folded}.json"))) ||
        fail "$cut samples that hold '$2' are truncated, which is more than the account has"
}

# From the first frame of a thread's stack to main. Two frames of libc lie between, or one.
# way_to_main NAME
way_to_main() { echo "^$1;_start;([^;]+;){1,2}main"; }

# Record a program that does what nofp_deep does, in a file or in memory of an unusual kind: its
# stacks are whole, and many of them have the whole chain of 66 calls.
# expect_deep NAME COMMAND…
expect_deep() {
    local name=$1 deep
    shift
    record -F "$FREQUENCY" --no-inline -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- "$@"
    expect_account_adds_up "$TMPDIR/$name.json"
    expect_whole "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$name" 98
    deep=$(awk -F';' 'NF > 66 { split($NF, part, " "); sum += part[length(part)] } END { printf "%d", sum }' \
        "$TMPDIR/$name.folded")
    echo "$deep samples of the whole chain"
    ((deep >= 20)) || fail "only $deep samples of $name are 66 calls deep, expected at least 20"
}
