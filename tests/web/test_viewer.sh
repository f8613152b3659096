#!/bin/bash
# The viewer's page in a browser: every behaviour, by mouse, keys and drops, with numbers that the
# command line gives for the same files.
# runs: beside others
. "$(dirname "$0")/web.sh"
. "$(dirname "$0")/viewer_files.sh"

mkdir "$scratch/shots"
run_page_test viewer.js "$scratch" "$(dirname "$STACKWIDE")/viewer.html"
status=$?
# To be looked at.
mkdir -p "$shots" && cp "$scratch"/shots/* "$shots"
exit $status
