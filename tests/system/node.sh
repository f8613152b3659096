# shellcheck shell=bash
# Sourced after lib.sh by tests that go through versions of Node.js.

# The programs that there are of version LEAST or newer, each once, in $nodes; where there is none, the test is skipped.
# STACKWIDE_TEST_NODES has paths of more, with colons between them: one of these that cannot be tested is a failure.
# find_nodes LEAST
find_nodes() {
    local usual=() more node version
    local -A seen=()
    nodes=()
    IFS=: read -ra more <<<"${STACKWIDE_TEST_NODES:-}"
    for node in ${more[@]+"${more[@]}"}; do
        version=$(get_node_version "$node") || fail "'$node' does not run as Node.js"
        ((version >= $1)) || fail "'$node' is of version $version, the test needs $1 or newer"
    done
    for node in /usr/bin/node /usr/local/bin/node; do
        ! version=$(get_node_version "$node") || ((version < $1)) || usual+=("$node")
    done
    for node in ${usual[@]+"${usual[@]}"} ${more[@]+"${more[@]}"}; do
        node=$(realpath "$node")
        [[ -n ${seen[$node]:-} ]] || nodes+=("$node")
        seen[$node]=1
    done
    ((${#nodes[@]})) || skip "needs node (package ${PACKAGE_OF[node]}) of version $1 or newer, which is not installed"
}

get_node_version() { "$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null; }
