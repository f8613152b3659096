#!/bin/bash
# The heatmap of time in a browser: by mouse and keys, with numbers that the command line gives for
# the same samples cut out of the text.
# runs: beside others
. "$(dirname "$0")/web.sh"

[[ -s $(dirname "$STACKWIDE")/viewer.html ]] || skip "the build folder has no viewer: scripts/install-deps names its packages, and a build with G=FOLDER leaves it there"

# make_samples FIRST_S COUNT: every 37 ms, of three threads and five functions.
make_samples() {
    awk -v first="$1" -v count="$2" 'BEGIN {
        split("parse hash scan copy emit", functions, " ")
        for (i = 0; i < count; i++) {
            ms = i * 37
            printf "web 7/%d [000] %d.%03d000: %d cycles:\n\t%x %s (/bin/web)\n\t1 main (/bin/web)\n\n",
                10 + i % 3, first + int(ms / 1000), ms % 1000, 100 + i % 7,
                16 + i % 5, functions[1 + (i * i) % 5]
        }
    }'
}

# The samples of [FROM, TO) milliseconds after FIRST_S.
cut_samples() {
    awk -v first="$2" -v from="$3" -v to="$4" '
    /cycles:/ { split($4, time, "[.:]"); ms = (time[1] - first) * 1000 + substr(time[2], 1, 3); inside = ms >= from && ms < to }
    inside' "$1"
}

make_samples 5000 320 >"$scratch/timed.txt"
make_samples 9000 60 >"$scratch/later.txt"
cut_samples "$scratch/timed.txt" 5000 2040 6380 >"$scratch/cut.txt"
cut_samples "$scratch/timed.txt" 5000 3000 5060 >"$scratch/keys.txt"
printf 'go;f 10\n' >"$scratch/timeless.folded"
"$STACKWIDE" view "$scratch/timed.txt" -o "$scratch/report.html" || exit
"$STACKWIDE" convert "$scratch/timed.txt" "$scratch/later.txt" -o "$scratch/both.html" || exit
mkdir "$scratch/shots"
run_page_test viewer_time.js "$scratch" "$(dirname "$STACKWIDE")/viewer.html"
status=$?
# To be looked at.
mkdir -p "$shots" && cp "$scratch"/shots/* "$shots"
exit $status
