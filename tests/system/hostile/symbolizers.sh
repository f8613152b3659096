# shellcheck shell=bash
# Sourced after lib.sh by tests that look at the processes in which a recording is named.

# The process in which a recording is named, once it has given up its rights: its pid is left in SYMBOLIZER.
find_symbolizer() { SYMBOLIZER=$(pgrep -P "$1" -x stackwide-name | head -n 1) && [[ -n $SYMBOLIZER ]]; }
