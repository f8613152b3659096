#!/bin/bash
# JavaScript functions are named from node's perf-map, marked _[j]; without one the summary says how
# to have it.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command node
source "$(dirname "$0")/own_tmp.sh"

cat >"$own_tmp/hot.js" <<'JS'
function hotInJavaScript(n) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum = (sum * 31 + i) | 0;
    return sum;
}
let sum = 0;
while (process.cpuUsage().user < 1.5e6) sum ^= hotInJavaScript(2000000);
process.exit(sum === 1 ? 1 : 0);
JS

# Node leaves a log, too, where it runs.
start "${in_own_tmp[@]}" node --perf-basic-prof hot.js
wait_until runs_program "$PID" node
# Without the names that V8 itself has, in whose place no code would be.
record -F 499 -d 100 -p "$PID" --runtime-frames native -o "$TMPDIR/out.folded"
expect_between "samples in hotInJavaScript" \
    "$(folded_match "$TMPDIR/out.folded" ';[^;]*hotInJavaScript[^;]*_\[j\]')" 30 3000
! grep -q 'names its code' "$TMPDIR/record.err" || fail "advice for code that has names"
start "${in_own_tmp[@]}" node hot.js
wait_until runs_program "$PID" node
record -F 499 -d 100 -p "$PID" --runtime-frames native -o "$TMPDIR/nameless.folded"
grep -qF 'Node.js names its code with --perf-basic-prof' "$TMPDIR/record.err" ||
    fail "no advice for code without names"
