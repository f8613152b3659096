#!/bin/bash
# Links to views of the viewer, under node.
# runs: beside others
tests=$(cd "$(dirname "$0")" && pwd)

command -v node >/dev/null || {
    echo "there is no node (package nodejs): scripts/install-deps --tests installs it"
    exit 77
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
# Node before 22 takes a file for a module by its name only.
cp "$tests/../../src/viewer/web/state/state.js" "$scratch/state.mjs" || exit 1
node "$tests/viewer_links.mjs" "$scratch/state.mjs"
