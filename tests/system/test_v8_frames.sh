#!/bin/bash
# Functions of JavaScript are in the stacks of the processes that run V8: those that called each other, as the program itself
# says, whoever compiled them; from the first samples on, and with each version that is here. Their lines are those in which they begin,
# as V8's own profiles have them.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/node.sh"
need_recording
find_nodes 16

# expect_chains NAME NODE OPTION…: of all stacks that end in a function of the program, the functions are those that it says
expect_chains() {
    local name=$1 node=$2
    shift 2
    record -F 1999 -o "$TMPDIR/$name.folded" -o "$TMPDIR/$name.speedscope.json" --stats "$TMPDIR/$name.json" -- \
        "$node" "$@" "$(dirname "$0")/../workloads/v8_chains.js" 0.75 >"$TMPDIR/chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    "$node" "$(dirname "$0")/v8_chains.js" "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$TMPDIR/chains" ||
        fail "$name: $(cat "$TMPDIR/record.err")"
    expect_lines 20 "$node" "$name" "$TMPDIR/profiles"/*.cpuprofile
}

# expect_lines LEAST NODE NAME [PROFILE…]: lines of functions in a recording are those of the profiles, and those that names say
expect_lines() {
    "$2" "$(dirname "$0")/v8_lines.js" "$1" "$TMPDIR/$3.speedscope.json" "${@:4}" || fail "$3: lines are others"
}

# expect_inlined NAME NODE: the same where functions are inlined into others; of a version whose optimized code is not known, the
# summary says so.
expect_inlined() {
    local name=$1 node=$2
    record -F 1999 -o "$TMPDIR/$name.folded" --stats "$TMPDIR/$name.json" -- \
        "$node" "$(dirname "$0")/../workloads/v8_inlined.js" 0.75 >"$TMPDIR/chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    case $("$node" -p 'process.versions.v8.split(".").slice(0, 2).join(".")') in
    9.4 | 10.2 | 11.3 | 12.4 | 13.6)
        "$node" "$(dirname "$0")/v8_inlined.js" "$TMPDIR/$name.folded" "$TMPDIR/$name.json" "$TMPDIR/chains" ||
            fail "$name: $(cat "$TMPDIR/record.err")"
        ;;
    *)
        grep -q "[0-9] may lack inlined functions" "$TMPDIR/record.err" ||
            fail "$name: nothing is said of inlined functions: $(cat "$TMPDIR/record.err")"
        ;;
    esac
}

# Those of the options that this version has, in $options.
# take_options NODE OPTION…
take_options() {
    local node=$1 option
    options=()
    for option in "${@:2}"; do
        ! "$node" "$option" -e 0 >/dev/null 2>&1 || options+=("$option")
    done
}

num_nodes=0
for node in "${nodes[@]}"; do
    num_nodes=$((num_nodes + 1)) last_node=$node
    # What the lines are does not depend on who compiles.
    rm -rf "$TMPDIR/profiles"
    "$node" --cpu-prof --cpu-prof-dir "$TMPDIR/profiles" --cpu-prof-interval 200 "$(dirname "$0")/../workloads/v8_chains.js" 1 >/dev/null
    record -F 999 -o "$TMPDIR/sources$num_nodes.speedscope.json" -- "$node" "$(dirname "$0")/../workloads/v8_sources.js" 3
    # Ten are counted at once; of the ten that are read later, as many as there is time for.
    expect_lines 11 "$node" "sources$num_nodes"
    # What compiles a function: nobody, the baseline compiler at once, and those that optimize.
    take_options "$node" --no-opt --no-maglev --no-sparkplug
    expect_chains "interpreted$num_nodes" "$node" "${options[@]}"
    take_options "$node" --no-opt --no-maglev --always-sparkplug
    expect_chains "baseline$num_nodes" "$node" "${options[@]}"
    take_options "$node" --no-turbo-inlining --no-maglev-inlining
    expect_chains "optimized$num_nodes" "$node" "${options[@]}"
    expect_inlined "inlined$num_nodes" "$node"
done

# Whose frames a recording would have.
start "$last_node" -e 'require("fs").writeFileSync(process.argv[1], ""); setTimeout(() => {}, 100000)' "$TMPDIR/runs"
wait_until test -e "$TMPDIR/runs"
version=$("$last_node" -p 'process.versions.v8.split(".").slice(0, 2).join(".")')
"$STACKWIDE" doctor >"$TMPDIR/doctor" || true
grep -q "^ok  *interpreters  *V8 ${version//./\\.} in [0-9]* process.*[0-9] node" "$TMPDIR/doctor" ||
    fail "the doctor does not see V8 $version: $(cat "$TMPDIR/doctor")"
