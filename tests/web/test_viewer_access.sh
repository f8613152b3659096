#!/bin/bash
# The viewer's page in a browser, where it is hard: by ear and by keys, in colours, while it loads, on
# servers that forbid things, with a core that fails.
# runs: beside others
. "$(dirname "$0")/web.sh"
. "$(dirname "$0")/viewer_files.sh"

run_page_test viewer_access.js "$scratch" "$(dirname "$STACKWIDE")/viewer.html"
