#!/bin/bash
# Two plugins that are loaded in turn, likely at the same address, are told apart.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording

# They lie beside the program.
cp "$WORKLOADS/dlopens" "$WORKLOADS"/plugin_{a,b}.so "$TMPDIR/"
record -F 2997 -o "$TMPDIR/command.folded" -- "$TMPDIR/dlopens" 1

mv "$TMPDIR/dlopens" "$TMPDIR/dlopens_in_all"
start_recording -F 2997 -o "$TMPDIR/all.folded"
"$TMPDIR/dlopens_in_all" 1
stop_recording

for file in command all; do
    grep '^dlopens' "$TMPDIR/$file.folded" >"$TMPDIR/own.folded"
    for plugin in a b; do
        expect_share "$TMPDIR/own.folded" "run_plugin;plugin_${plugin}_burn" run_plugin 50 2997
    done
done
