#!/bin/bash
# Functions of WebAssembly have the names that their module says, or their number: those that called each other, as the program does, with
# each version of Node.js that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/node.sh"
need_recording
find_nodes 16

# expect_chains NAME exact|inlined names|exports NODE [OPTION…]
expect_chains() {
    local name=$1 kind=$2 names=$3 node=$4
    shift 4
    record -F 1999 -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- "$node" "$@" "$(dirname "$0")/../workloads/v8_wasm.js" "$names" 2
    expect_account_adds_up "$TMPDIR/$name.json"
    "$node" "$(dirname "$0")/v8_wasm.js" "$kind" "$names" "$TMPDIR/$name.folded" || fail "$name: $(cat "$TMPDIR/record.err")"
}

num_nodes=0
for node in "${nodes[@]}"; do
    num_nodes=$((num_nodes + 1))
    # Only V8's first compiler for WebAssembly; both, of which the second one inlines functions in newer versions.
    expect_chains "names$num_nodes" exact names "$node" --liftoff-only
    expect_chains "exports$num_nodes" exact exports "$node" --liftoff-only
    expect_chains "both$num_nodes" inlined names "$node"
done
