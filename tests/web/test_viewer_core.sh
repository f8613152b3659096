#!/bin/bash
# The viewer's core under node: it imports nothing, and what it reads and writes is what the
# command line reads and writes, byte for byte.
#
# usage: test_viewer_core.sh [FILE…]     default: the inputs that lie in tests/
tests=$(cd "$(dirname "$0")" && pwd)
: "${STACKWIDE:=$tests/../../build/stackwide}"
export STACKWIDE

skip() {
    echo "$1"
    exit 77
}

command -v node >/dev/null || skip "there is no node: scripts/install-deps --tests installs it"
[[ -s $(dirname "$STACKWIDE")/viewer.wasm ]] || skip "the program was built without its viewer"
if (($# == 0)); then
    mapfile -t files < <(find "$tests/../golden" "$tests/../fuzz/corpus" -type f \
        ! -name command ! -name expected ! -name status ! -name '*.md' | sort)
    set -- "${files[@]}"
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
node "$tests/viewer_core.mjs" "$(dirname "$STACKWIDE")/viewer.wasm" "$scratch" "$@"
