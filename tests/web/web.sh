# Sourced by the tests of pages: finds the browser and fetches what drives it.
#
#   BROWSER=firefox   in place of Chromium
#
# Sets STACKWIDE, scratch (an empty folder), shots (one beside the program) and CHROMIUM or FIREFOX. Tests
# are skipped, by name, where the browser, node or the npm packages, whose versions and sums are in
# package-lock.json, cannot be had.
# shellcheck shell=bash
set -u
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$tests/../npm.sh"
: "${STACKWIDE:=$tests/../../build/stackwide}"
modules=$(dirname "$STACKWIDE")/web

skip() {
    echo "$1"
    exit 77
}

find_first() {
    local name
    for name in "$@"; do
        command -v "$name" && return
    done
    return 1
}

# npm ci, once; a second test that comes while it runs waits.
fetch_modules() {
    cmp -s "$tests/package-lock.json" "$modules/fetched" && return
    mkdir -p "$modules" || return
    (
        flock 9 || exit
        cmp -s "$tests/package-lock.json" "$modules/fetched" && exit
        cp "$tests/package.json" "$tests/package-lock.json" "$modules" &&
            fetch_by_npm ci --prefix "$modules" --no-audit --no-fund --ignore-scripts >&2 &&
            cp "$tests/package-lock.json" "$modules/fetched"
    ) 9>"$modules/lock"
}

if [[ ${BROWSER:-} = firefox ]]; then
    FIREFOX=$(find_first firefox-esr firefox) ||
        skip "there is no Firefox (package firefox-esr): scripts/install-deps --tests installs it"
    export FIREFOX
else
    CHROMIUM=$(find_first chromium chromium-browser google-chrome-stable google-chrome) ||
        skip "there is no Chromium (package chromium): scripts/install-deps --tests installs it"
    export CHROMIUM
fi
command -v node >/dev/null || skip "there is no node (package nodejs): scripts/install-deps --tests installs it"
command -v npm >/dev/null || skip "there is no npm (package npm): scripts/install-deps --tests installs it"
fetch_modules || skip "the npm packages of tests/web/package.json could not be fetched"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
shots=$(dirname "$STACKWIDE")/shots${BROWSER:+-$BROWSER}
export STACKWIDE NODE_PATH=$modules/node_modules

# run_page_test SCRIPT ARGUMENT…: with node; not below exec, so that scratch is removed.
run_page_test() {
    node "$tests/$1" "${@:2}"
}
