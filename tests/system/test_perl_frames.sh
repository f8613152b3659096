#!/bin/bash
# Frames of Perl are in the stacks of the processes that run it: the subroutines that called each other and the lines that they
# are at, as caller() says in the program itself, whatever called them; on each version that is here.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/perl.sh"
need_recording
need_command python3

# expect_chains VERSION COMMAND…: in all stacks in which time is used, those who have called that are as the program says.
expect_chains() {
    local version=$1 name=perl$1
    shift
    record -F 1999 -o "$TMPDIR/$name.speedscope.json" --stats "$TMPDIR/$name.json" -- "$@" - 1 \
        <"$(dirname "$0")/../workloads/perl_chains.pl" >"$TMPDIR/$name.chains"
    expect_account_adds_up "$TMPDIR/$name.json"
    python3 "$(dirname "$0")/perl_chains.py" "$TMPDIR/$name.speedscope.json" "$TMPDIR/$name.json" "$TMPDIR/$name.chains" "$version" ||
        fail "$name: $(cat "$TMPDIR/record.err")"
}

num_perls=0
while read -r version perl; do
    num_perls=$((num_perls + 1))
    # shellcheck disable=SC2086 # a command has words
    expect_chains "$version" $perl
done < <(list_perls)
((num_perls)) || skip "needs Perl 5.32 to 5.40 with threads (package perl), which is not installed"
