#!/bin/bash
# The viewer's page in a browser: what is looked at survives the history, links and saved pages; names
# and stacks of any length are bounded on the screen.
# runs: beside others
. "$(dirname "$0")/web.sh"
. "$(dirname "$0")/viewer_files.sh"

run_page_test viewer_state.js "$scratch" "$(dirname "$STACKWIDE")/viewer.html"
