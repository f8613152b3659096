#!/bin/bash
# Tests ask a registry that does not answer once a run, not once a test.
# runs: beside others
source "$(dirname "$0")/lib.sh"

mkdir "$TMPDIR/bin" "$TMPDIR/run" "$TMPDIR/other_run"
printf '#!/bin/sh\necho "$1" >>"%s"\nexit 1\n' "$TMPDIR/asked" >"$TMPDIR/bin/npm"
chmod +x "$TMPDIR/bin/npm"
PATH=$TMPDIR/bin:$PATH

# fetch RUN NAME: as a test does
fetch() { expect_status 77 env TEST_RUN="$TMPDIR/$1" "$REPO/tests/perfetto/fetch" "$TMPDIR/$2"; }
asked() { grep -c . "$TMPDIR/asked"; }

fetch run first
fetch run second
[[ $(asked) = 1 ]] || fail "the registry was asked $(asked) times in a run"
fetch other_run third
[[ $(asked) = 2 ]] || fail "another run does not ask the registry again"

# A registry that answers is asked for each package.
printf '#!/bin/sh\necho "$1" >>"%s"\n' "$TMPDIR/answered" >"$TMPDIR/bin/npm"
mkdir "$TMPDIR/good_run"
. "$REPO/tests/npm.sh"
export TEST_RUN=$TMPDIR/good_run
fetch_by_npm pack && fetch_by_npm ci || fail "a package is not fetched"
[[ $(paste -sd ' ' "$TMPDIR/answered") = "pack ci" ]] || fail "asked for: $(cat "$TMPDIR/answered")"
