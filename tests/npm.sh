# shellcheck shell=bash
# Sourced by what fetches packages for tests.
#
# tests/run sets TEST_RUN, a directory that all tests of a run share. The registry is asked once a run: after a
# call that failed, later ones fail immediately instead of waiting for it again.

# fetch_by_npm ARGUMENT…: npm, with a deadline
fetch_by_npm() (
    if [[ -n ${TEST_RUN:-} ]]; then
        exec 8>"$TEST_RUN/npm.lock"
        flock 8
        [[ ! -e $TEST_RUN/npm.failed ]] || exit 1
    fi
    timeout 180 npm "$@" 8>&- && exit
    [[ -z ${TEST_RUN:-} ]] || : >"$TEST_RUN/npm.failed"
    exit 1
)
