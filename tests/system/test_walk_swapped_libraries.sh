#!/bin/bash
# Where a library was, another one is: nobody reports that the first one was unloaded, and by its table the second one
# has another caller. No stack has that caller, and few are truncated.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

cp "$WORKLOADS"/nofp_swaps "$WORKLOADS"/nofp_swapped_{a,b}.so "$TMPDIR/"

# expect_callers NAME: every stack of a library goes to its caller and on to main, or is truncated.
expect_callers() {
    local folded=$TMPDIR/$1.folded way others
    way=$(way_to_main nofp_swaps)
    others=$({ grep -E ';leaf_[ab][; ]' "$folded" || true; } |
        { grep -Ev "$way;(run_child;)?(load_and_run;)?run_library;entry;leaf_[ab][; ]|^nofp_swaps;\[truncated\];" || true; })
    [[ -z $others ]] || {
        echo "$others" | head -n 12
        fail "$(echo "$others" | folded_total /dev/stdin) of $1 have another caller"
    }
    expect_no_frame "$folded" 'decoy;entry'
}

# record_swaps NAME OPTION ROUNDS TURNS [WAY]
record_swaps() {
    record -F "$FREQUENCY" "$2" --no-inline -o "$TMPDIR/$1.folded" --stats "$TMPDIR/$1.json" -- \
        "$TMPDIR/nofp_swaps" "${@:3}"
    expect_account_adds_up "$TMPDIR/$1.json"
    echo "$1: $(stats_get "$TMPDIR/$1.json" user_stacks.complete) whole; cut: $(list_reasons "$TMPDIR/$1.json")"
    expect_callers "$1"
}

# Only until a second library is seen are stacks truncated. From then on user space walks them.
record_swaps short --no-cache 50 200
record_swaps long --no-cache 6 2000
record_swaps mapped --no-cache 50 200 mapped
for name in short long mapped; do
    expect_frame "$TMPDIR/$name.folded" 'run_library;entry;leaf_a' 20
    expect_frame "$TMPDIR/$name.folded" 'run_library;entry;leaf_b' 20
done
# Once only: whether memory is a copy of a file is seen later.
record_swaps copied --no-cache 1 3000 copied
record_swaps forked --no-cache 20 300 forked
record_swaps waits --off-cpu 20 200

start_recording -F "$FREQUENCY" --no-inline -o "$TMPDIR/all.folded"
"$TMPDIR/nofp_swaps" 50 200
stop_recording
grep '^nofp_swaps;' "$TMPDIR/all.folded" >"$TMPDIR/own.folded"
expect_callers own
