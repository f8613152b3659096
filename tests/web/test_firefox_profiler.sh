#!/bin/bash
# The Firefox Profiler's own code, which its command line is made of, reads what is written for it.
# runs: beside others
. "$(dirname "$0")/web.sh"

printf 'nginx;main;f;g_[i] 3\nnginx;main;f;sys_[k] 2\nnginx;main;h "\\ é 5\n' >"$scratch/a.folded"
"$STACKWIDE" convert "$scratch/a.folded" -o "$scratch/a.firefox.json" || exit

profiler_cli=$NODE_PATH/@firefox-devtools/profiler-cli/dist/profiler-cli.js
# It keeps a process in the background between its commands.
profiler() { HOME=$scratch node "$profiler_cli" "$@" --session stackwide; }
trap 'HOME=$scratch node "$profiler_cli" stop stackwide >/dev/null 2>&1; rm -rf "$scratch"' EXIT

profiler load "$scratch/a.firefox.json" >"$scratch/said" 2>&1 # a slow machine: not ready in time
for ((i = 0; i < 30; i++)); do
    profiler thread functions --json >"$scratch/functions.json" 2>>"$scratch/said" && break
    sleep 1
done
node - "$scratch/functions.json" <<'JS' || { cat "$scratch/said"; exit 1; }
const assert = require("node:assert");
const { functions } = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));

assert.deepStrictEqual(
	Object.fromEntries(functions.map((f) => [f.nameWithLibrary, [f.totalSamples, f.selfSamples]])), {
		"h \"\\ é": [5, 5], g: [3, 3], "[kernel]!sys": [2, 2], f: [5, 0], main: [10, 0], nginx: [10, 0],
	});
JS
