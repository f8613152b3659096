#!/bin/bash
# speedscope itself, in a browser, reads what is written for it: threads, metrics, weights.
. "$(dirname "$0")/web.sh"
fetch_package speedscope 1.25.0 || skip "the npm package speedscope could not be fetched"

printf 'nginx;main;f;g_[i] 3\nnginx;main;f;sys_[k] 2\nnginx;main;h "\\ é 5\n' >"$scratch/a.folded"
cat >"$scratch/b.cpuprofile" <<'JSON'
{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},
{"id":2,"callFrame":{"functionName":"run","url":"a.js","lineNumber":6}}],
"startTime":0,"endTime":3500,"samples":[2,2],"timeDeltas":[1000,1500]}
JSON
"$STACKWIDE" convert "$scratch/a.folded" -o "$scratch/a.speedscope.json" || exit
"$STACKWIDE" convert "$scratch/b.cpuprofile" --metric time -o "$scratch/b.speedscope.json" || exit
run_page_test speedscope.js "$PACKAGE/dist/release/index.html" "$scratch"
