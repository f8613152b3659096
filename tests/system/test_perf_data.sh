#!/bin/bash
# perf.data is read as `perf script` reads it: the same weights, the same stacks of known
# functions, also where only copies of the stacks were recorded. A program that is gone is found
# below --symbols, and a debug file there.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_command perf
need_command objcopy
cd "$TMPDIR"
perf version >/dev/null 2>&1 || skip "perf does not run here"
# perf may well fall over files that it has nothing to do with when it collects their build IDs; new
# kernels tell them by themselves.
options=(-q -F 499 --buildid-mmap)
perf record "${options[@]}" -e cpu-clock -o probe.data -- true >/dev/null 2>&1 || options=(-q -F 499)
perf record "${options[@]}" -e cpu-clock -o probe.data -- true >/dev/null 2>&1 ||
    skip "perf record is not permitted here, or does not work"

# The known chain of workload `deep`; `nofp_deep` has two digits, and walks it up and down.
chain=$(printf main; printf ';level_%d' {0..65})

# to_folded IN OUT [OPTION...]
to_folded() {
    "$STACKWIDE" convert "$1" --metric "$metric" --no-annotations -o "$2" "${@:3}" 2>>errors ||
        fail "$1 could not be read: $(tail -1 errors)"
}

sum() { awk '{ sum += $NF } END { printf "%d", sum }' "$1"; }

# expect_like_perf NAME CHAIN PERCENT: NAME.data has what `perf script` says of it, and at least so
# much of the known chain.
expect_like_perf() {
    local ours theirs
    perf script -i "$1.data" >"$1.script" 2>/dev/null
    to_folded "$1.data" "$1.folded"
    to_folded "$1.script" "$1.perf.folded" --from perf-script
    [[ $(sum "$1.folded") = $(sum "$1.perf.folded") ]] ||
        fail "$1.data weighs $(sum "$1.folded"), perf says $(sum "$1.perf.folded")"
    ours=$(folded_share "$1.folded" "$2")
    theirs=$(folded_share "$1.perf.folded" "$2")
    expect_between "share of the chain in $1.data" "$ours" "$3" 100
    expect_near "share of the chain in $1.data" "$ours" "$theirs" 1
}

cp "$WORKLOADS/deep" by_frame_pointer
cp "$WORKLOADS/nofp_deep" by_table
perf record "${options[@]}" -g -e cpu-clock,page-faults -o fp.data -- ./by_frame_pointer 1 2>/dev/null
perf record "${options[@]}" -g -e cpu-clock -o - -- ./by_frame_pointer 1 2>/dev/null >pipe.data
perf record "${options[@]}" --call-graph dwarf -e cpu-clock -o dwarf.data -- ./by_table 1 2>/dev/null

# Whoever may not see the kernel gets the same event under a name that says so.
metric=$("$STACKWIDE" report fp.data --json 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["metric"]["name"])')
[[ $metric =~ ^cpu-clock(:u)?$ ]] || fail "perf counts '$metric'"

expect_like_perf fp "$chain" 90
expect_like_perf pipe "$chain" 90
expect_like_perf dwarf "$(printf main; printf ';level_%02d' {0..65})" 20

# Packed records, where perf can write them.
if perf record "${options[@]}" -z -g -e cpu-clock -o packed.data -- ./by_frame_pointer 1 2>/dev/null; then
    expect_like_perf packed "$chain" 90
fi

# Both events are there, and are told apart.
"$STACKWIDE" report fp.data --json 2>/dev/null | has_line -E '"name": *"page-faults(:u)?"' ||
    fail "fp.data has no metric page-faults"

# The program is gone, then at hand under its build ID, its path, its name.
id=$(readelf -n by_table | sed -n 's/.*Build ID: *//p')
[[ -n $id ]] || skip "the compiler writes no build IDs"
mkdir -p "ids/.build-id/${id:0:2}" "paths$TMPDIR" names
mv by_table "ids/.build-id/${id:0:2}/${id:2}"
HOME=/nonexistent to_folded dwarf.data gone.folded
expect_between "share of the chain without the program" "$(folded_share gone.folded level_65)" 0 0
cp "ids/.build-id/${id:0:2}/${id:2}" "paths$TMPDIR/by_table"
cp "ids/.build-id/${id:0:2}/${id:2}" names/by_table
for folder in ids paths names; do
    HOME=/nonexistent to_folded dwarf.data $folder.folded --symbols $folder
    cmp -s dwarf.folded $folder.folded || fail "--symbols $folder gives other stacks: $(diff dwarf.folded $folder.folded | head)"
done

# Another program of this name is not taken for it.
cp "$WORKLOADS/burn" names/by_table
HOME=/nonexistent to_folded dwarf.data other.folded --symbols names
expect_between "share of the chain with another program" "$(folded_share other.folded level_65)" 0 0

# A stripped program, and what was stripped.
mkdir -p split/.build-id/"${id:0:2}"
objcopy --only-keep-debug paths"$TMPDIR"/by_table split/.build-id/"${id:0:2}/${id:2}.debug"
objcopy --strip-all paths"$TMPDIR"/by_table split/by_table
HOME=/nonexistent to_folded dwarf.data split.folded --symbols split
cmp -s dwarf.folded split.folded || fail "a separate debug file gives other stacks"

# The debug file under the program's own name, the program at its place.
mkdir named
cp split/.build-id/"${id:0:2}/${id:2}.debug" named/by_table
cp split/by_table by_table
HOME=/nonexistent to_folded dwarf.data named.folded --symbols named
cmp -s dwarf.folded named.folded || fail "a debug file found by name gives other stacks"
HOME=/nonexistent to_folded dwarf.data stripped.folded
expect_between "share of the chain of a stripped program" "$(folded_share stripped.folded level_65)" 0 0
rm by_table
