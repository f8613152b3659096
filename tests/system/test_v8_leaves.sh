#!/bin/bash
# A function of JavaScript that has no frame yet, or none any more, is in the stack, and so is its caller: the names by V8's frames are
# those that its perf-map has for the instructions.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
nodes=(/usr/bin/node /usr/local/bin/node)
IFS=: read -ra more_nodes <<<"${STACKWIDE_TEST_NODES:-}"
nodes+=("${more_nodes[@]}")
source "$(dirname "$0")/own_tmp.sh"
cp "$(dirname "$0")/../workloads/v8_leaves.js" "$own_tmp"

num_nodes=0
declare -A seen
for node in "${nodes[@]}"; do
    [[ -x $node ]] || continue
    node=$(realpath "$node")
    [[ $node != /tmp/* && -z ${seen[$node]:-} ]] || continue
    seen[$node]=1
    version=$("$node" -p 'process.versions.node.split(".")[0]') || continue
    ((version >= 16)) || continue
    num_nodes=$((num_nodes + 1))
    options=(--perf-basic-prof)
    for option in --no-turbo-inlining --no-maglev-inlining --no-sparkplug; do
        ! "$node" "$option" -e 0 >/dev/null 2>&1 || options+=("$option")
    done
    record -F 1999 --runtime-frames all -o "$TMPDIR/leaves$num_nodes.folded" -- "${in_own_tmp[@]}" "$node" "${options[@]}" v8_leaves.js 2
    "$node" "$(dirname "$0")/v8_leaves.js" "$TMPDIR/leaves$num_nodes.folded" || fail "$(cat "$TMPDIR/record.err")"
done
((num_nodes)) || skip "needs node (package ${PACKAGE_OF[node]}) of version 16 or newer, which is not installed"
