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
page_bytes=$(stat -c %s "$(dirname "$STACKWIDE")/viewer.html")
if ((page_bytes > 400 * 1024)); then
    echo "FAIL the page has $page_bytes bytes, more than 400 KB"
    exit 1
fi
if (($# == 0)); then
    mapfile -t files < <(find "$tests/../golden" "$tests/../fuzz/corpus" -type f \
        ! -name command ! -name expected ! -name status ! -name '*.md' | sort)
    set -- "${files[@]}"
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
node "$tests/viewer_core.mjs" "$(dirname "$STACKWIDE")/viewer.wasm" "$scratch" "$@"
