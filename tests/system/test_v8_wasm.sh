#!/bin/bash
# Functions of WebAssembly have the names that their module says, or their number: those that called each other, as the program does, with
# each version of Node.js that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
nodes=(/usr/bin/node /usr/local/bin/node)
IFS=: read -ra more_nodes <<<"${STACKWIDE_TEST_NODES:-}"
nodes+=("${more_nodes[@]}")

# expect_chains NAME exact|inlined names|exports NODE [OPTION…]
expect_chains() {
    local name=$1 kind=$2 names=$3 node=$4
    shift 4
    record -F 1999 -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- "$node" "$@" "$(dirname "$0")/../workloads/v8_wasm.js" "$names" 2
    expect_account_adds_up "$TMPDIR/$name.json"
    "$node" "$(dirname "$0")/v8_wasm.js" "$kind" "$names" "$TMPDIR/$name.folded" || fail "$name: $(cat "$TMPDIR/record.err")"
}

num_nodes=0
declare -A seen
for node in "${nodes[@]}"; do
    [[ -x $node ]] || continue
    node=$(realpath "$node")
    [[ -z ${seen[$node]:-} ]] || continue
    seen[$node]=1
    version=$("$node" -p 'process.versions.node.split(".")[0]') || continue
    ((version >= 16)) || continue
    num_nodes=$((num_nodes + 1))
    # Only V8's first compiler for WebAssembly; both, of which the second one inlines functions in newer versions.
    expect_chains "names$num_nodes" exact names "$node" --liftoff-only
    expect_chains "exports$num_nodes" exact exports "$node" --liftoff-only
    expect_chains "both$num_nodes" inlined names "$node"
done
((num_nodes)) || skip "needs node (package ${PACKAGE_OF[node]}) of version 16 or newer, which is not installed"
