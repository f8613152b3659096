#!/bin/bash
# A service keeps unwind tables in the folder that its manager has made for it, also behind a
# symbolic link; none that others may write to.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# record_with FOLDER: record a program with the folder as a service has it.
record_with() {
    CACHE_DIRECTORY=$1 record -F 199 -o "$TMPDIR/out.folded" -- "$WORKLOADS/burn"
}
count_tables() { find "$1" -type f | wc -l; }

mkdir -m 0750 "$TMPDIR/private"
ln -s private "$TMPDIR/cache"
record_with "$TMPDIR/cache:$TMPDIR/other"
kept=$(count_tables "$TMPDIR/private")
((kept >= 2)) || fail "only $kept tables are in the service's folder, expected at least 2"

mkdir -m 0777 "$TMPDIR/open"
chmod 0777 "$TMPDIR/open"
record_with "$TMPDIR/open"
[[ $(count_tables "$TMPDIR/open") = 0 ]] || fail "tables are kept where others may write"

mkdir -m 0750 "$TMPDIR/foreign"
chown 65534 "$TMPDIR/foreign"
record_with "$TMPDIR/foreign"
[[ $(count_tables "$TMPDIR/foreign") = 0 ]] || fail "tables are kept in somebody else's folder"
