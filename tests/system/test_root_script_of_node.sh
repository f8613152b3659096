#!/bin/bash
# --root script: processes of Node.js are named by their script, or by the option that has their code.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command node

burn='while (process.cpuUsage().user < 300000);'
echo "$burn" >"$TMPDIR/server.js"
echo "node --no-warnings -r fs '$TMPDIR/server.js'; node -e '$burn'; true" >"$TMPDIR/run.sh"
record -F 999 --root script -o "$TMPDIR/out.folded" -- sh "$TMPDIR/run.sh"
# Its main thread has the name of the process, or one of its own (Node 24).
for root in 'server\.js' '-e'; do
    grep -Eq "^(node|MainThread|node-MainThread) \($root\)[; ]" "$TMPDIR/out.folded" ||
        fail "no '$root': $(cut -d';' -f1 "$TMPDIR/out.folded" | sort | uniq -c)"
done
