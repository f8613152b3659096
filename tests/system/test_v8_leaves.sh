#!/bin/bash
# A function of JavaScript that has no frame yet, or none any more, is in the stack, and so is its caller: the names by V8's frames are
# those that its perf-map has for the instructions.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/node.sh"
need_recording
find_nodes 16
source "$(dirname "$0")/own_tmp.sh"
cp "$(dirname "$0")/../workloads/v8_leaves.js" "$own_tmp"

num_nodes=0
for node in "${nodes[@]}"; do
    num_nodes=$((num_nodes + 1))
    show_in_own_tmp "$node"
    options=(--perf-basic-prof)
    for option in --no-turbo-inlining --no-maglev-inlining --no-sparkplug; do
        ! "$node" "$option" -e 0 >/dev/null 2>&1 || options+=("$option")
    done
    record -F 1999 --runtime-frames all -o "$TMPDIR/leaves$num_nodes.folded" -- "${in_own_tmp[@]}" "$node" "${options[@]}" v8_leaves.js 2
    "$node" "$(dirname "$0")/v8_leaves.js" "$TMPDIR/leaves$num_nodes.folded" || fail "$(cat "$TMPDIR/record.err")"
done
