#!/bin/bash
# Two plugins that are loaded in turn, likely at the same address, are told apart.
# runs: in turn
source "$(dirname "$0")/lib.sh"
need_recording

record -F 999 -o "$TMPDIR/command.folded" -- "$WORKLOADS/dlopens" 3

start_recording -F 999 -o "$TMPDIR/all.folded"
"$WORKLOADS/dlopens" 3
stop_recording

for file in "$TMPDIR"/{command,all}.folded; do
    for plugin in a b; do
        expect_near "share of plugin_${plugin}_burn in $file" \
            "$(folded_share "$file" "plugin_${plugin}_burn" dlopens)" 50 8
    done
done
