#!/bin/bash
# The viewer's core under node: it imports nothing, and what it reads and writes is what the
# command line reads and writes, byte for byte.
#
# usage: test_viewer_core.sh [FILE…]     default: the inputs that lie in tests/
# runs: beside others
tests=$(cd "$(dirname "$0")" && pwd)
: "${STACKWIDE:=$tests/../../build/stackwide}"
export STACKWIDE

skip() {
    echo "$1"
    exit 77
}

command -v node >/dev/null || skip "there is no node (package nodejs): scripts/install-deps --tests installs it"
[[ -s $(dirname "$STACKWIDE")/viewer.wasm ]] || skip "the build folder has no viewer: scripts/install-deps names its packages, and a build with G=FOLDER leaves it there"
page_bytes=$(stat -c %s "$(dirname "$STACKWIDE")/viewer.html")
# A bound on its growth, which every reader adds to; compilers differ by one in a hundred.
if ((page_bytes > 480 * 1024)); then
    echo "FAIL the page has $page_bytes bytes, more than 480 KB"
    exit 1
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
if (($# == 0)); then
    # What is no file of the repository: an experiment as the page hands it to the core, our own page.
    tar -C "$tests/../golden/convert_er" -cf "$scratch/small.er.tar" small.er || exit 1
    printf 'main;a;b 3\nmain;c_[k] 4\n' >"$scratch/a.folded"
    "$STACKWIDE" view "$scratch/a.folded" -o "$scratch/page.html" || exit 1
    # In the gate twelve files of each corpus: all of a profile format, few of the hundreds that no format has.
    limit=$([[ ${TEST_VERSIONS:-} = few ]] && echo 12 || echo 1000000)
    mapfile -t files < <(find "$tests/../golden" "$tests/../fuzz/corpus" -type f \
        ! -name command ! -name expected ! -name status ! -name '*.md' | sort |
        awk -v limit="$limit" '{ folder = $0; sub(/[^\/]*$/, "", folder) } folder !~ /corpus/ || ++count[folder] <= limit')
    set -- "${files[@]}" "$scratch/small.er.tar" "$scratch/page.html"
fi
# Node before 22 takes a file for a module by its name only.
cp "$tests/../../src/viewer/web/core/core.js" "$scratch/core.mjs" || exit 1
node "$tests/viewer_core.mjs" "$(dirname "$STACKWIDE")/viewer.wasm" "$scratch/core.mjs" "$scratch" "$@"
