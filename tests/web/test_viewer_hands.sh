#!/bin/bash
# The viewer's page in a browser: folders, our own pages, exports, fingers, paper, the clipboard, long
# tables, the history.
# runs: beside others
. "$(dirname "$0")/web.sh"
. "$(dirname "$0")/viewer_files.sh"

run_page_test viewer_hands.js "$scratch" "$(dirname "$STACKWIDE")/viewer.html"
