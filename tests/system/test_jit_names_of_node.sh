#!/bin/bash
# JavaScript functions are named from node's perf-map, marked _[j]; without one the summary says how
# to have it.
source "$(dirname "$0")/lib.sh"
need_recording
need_command node

cat >"$TMPDIR/hot.js" <<'JS'
function hotInJavaScript(n) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum = (sum * 31 + i) | 0;
    return sum;
}
const end = Date.now() + 3000;
let sum = 0;
while (Date.now() < end) sum ^= hotInJavaScript(2000000);
process.exit(sum === 1 ? 1 : 0);
JS
remove_maps() {
    stop_background
    find /tmp -maxdepth 1 -name "perf-$PID.map" -user "$(id -u)" -delete
}
trap remove_maps EXIT

cd "$TMPDIR" # node leaves a log where it runs
start node --perf-basic-prof "$TMPDIR/hot.js"
record -F 499 -d 30 -p "$PID" -o "$TMPDIR/out.folded"
expect_between "samples in hotInJavaScript" \
    "$(folded_match "$TMPDIR/out.folded" ';[^;]*hotInJavaScript[^;]*_\[j\]')" 300 3000
! grep -q 'names its code' "$TMPDIR/record.err" || fail "advice for code that has names"
start node "$TMPDIR/hot.js"
record -F 499 -d 30 -p "$PID" -o "$TMPDIR/nameless.folded"
grep -qF 'Node.js names its code with --perf-basic-prof' "$TMPDIR/record.err" ||
    fail "no advice for code without names"
