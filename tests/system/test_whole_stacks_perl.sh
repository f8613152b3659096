#!/bin/bash
# User stacks of a Perl interpreter are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command perl

expect_whole_load perl 98.8 99.8 1999 perl -e '
sub depth { my ($n) = @_; return $n ? 1 + depth($n - 1) : 0; }
my $end = time + 2;
while (time < $end) {
    my %count;
    my $text = join(",", sort map { $_ * 7919 % 1000 } 1 .. 500);
    $text =~ s/(\d+)/$1 + 1/ge;
    $count{$_}++ for split /,/, $text;
    depth(50);
}
'
