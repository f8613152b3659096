#!/bin/bash
# User stacks are whole in hundreds of programs that are started one after another and end after
# some milliseconds, at twice the rate too.
# runs: in turn
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command perl

# expect_whole_storm NAME HZ
expect_whole_storm() {
    # shellcheck disable=SC2016 # the inner shell is to expand it
    expect_whole_load "$1" 98 99 "$2" bash -c '
        for ((i = 0; i < 250; i++)); do perl -e "my \$sum = 0; \$sum += \$_ for 1 .. 100000"; done'
    local execs
    execs=$(stats_get "$TMPDIR/$1.json" processes.execs)
    ((execs >= 200)) || fail "only $execs programs were started, expected hundreds"
}
expect_whole_storm exec-storm 999
expect_whole_storm exec-storm-fast 1999
