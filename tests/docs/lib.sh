# shellcheck shell=bash
# What both tests of the documents share: which they are, and the commands in them.
. "$(dirname "${BASH_SOURCE[0]}")/../system/lib.sh"

DOCUMENTS=("$REPO/README.md" "$REPO"/packaging/docs/*.md)

# "DOCUMENT:LINE<tab>COMMAND" for each command of ours: lines of code, and spans of code in tables.
list_commands() {
    awk '
    function show(command) {
        sub(/^\$ /, "", command)
        if (command ~ /^(sudo |perf script \| )?stackwide [a-z]/)
            printf "%s:%d\t%s\n", FILENAME, FNR, command
    }
    /^    / { show(substr($0, 5)) }
    /^\|/ {
        n = split($0, spans, "`")
        for (i = 2; i <= n; i += 2)
            show(spans[i])
    }' "${DOCUMENTS[@]}" | sed "s,^$REPO/,,"
}
