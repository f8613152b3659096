#!/bin/bash
# User stacks of a C++ compiler with very large libraries are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command clang++

cat >"$TMPDIR/load.cc" <<'CPP'
#include <map>
#include <regex>
#include <string>
std::map<std::string, std::regex> table;
bool run(const std::string &text) { return std::regex_match(text, table[text]); }
CPP
expect_whole_load clang 98.5 99.5 1999 bash -c \
    'end=$((SECONDS + 2)); while ((SECONDS < end)); do clang++ -O2 -c -o /dev/null "$1"; done' - \
    "$TMPDIR/load.cc"
