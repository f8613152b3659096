#!/bin/bash
# User stacks through code that was compiled while it runs are whole, and so are those of the
# engine's own threads.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command node

cat >"$TMPDIR/load.js" <<'JS'
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
const data = [];
for (let i = 0; i < 500; i++) data.push({ name: "item " + i, values: [i, i * 2, i * 3] });
const end = Date.now() + 1750;
while (Date.now() < end) {
    fibonacci(20);
    const text = JSON.stringify(data);
    JSON.parse(text).sort((a, b) => (a.name < b.name ? -1 : 1));
    text.replace(/(\w+) (\d+)/g, (all, word, number) => number + word);
}
JS
cd "$TMPDIR"
gate=98.8
# With the sanitizers, the symbols of node take so long to read that code which is mapped meanwhile is
# told to the sampling program too late.
! grep -q __asan_init "$STACKWIDE" || gate=90
expect_whole_load node "$gate" 99.8 1999 node "$TMPDIR/load.js"
