#!/bin/bash
# User stacks of processes that live for some milliseconds after a fork without exec are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command perl

expect_whole_load forks 98.5 99.5 1999 perl -e '
my $end = time + 2;
while (time < $end) {
    my $child = fork;
    if (!$child) {
        my $sum = 0;
        $sum += length join(",", sort { $a <=> $b } map { $_ * 7919 % 1000 } 1 .. 300) for 1 .. 20;
        exit 0;
    }
    waitpid $child, 0;
}
'
