#!/bin/bash
# A 32-bit program: its functions have their names, its stacks go as far as calls prove it, be there
# frame pointers or not, and the account says why they are cut.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

# check NAME ALLOWED...: each stack without its kernel part is one of those allowed
check() {
    local name=$1 folded=$TMPDIR/$1.folded stats=$TMPDIR/$1.json complete truncated cut
    [[ -x $WORKLOADS/$name ]] || skip "the compiler makes no 32-bit programs: $(head -n 1 "$WORKLOADS/$name.log")"
    "$WORKLOADS/$name" || skip "this kernel does not run 32-bit programs"
    shift
    record -F "$FREQUENCY" -o "$folded" --stats "$stats" -- "$WORKLOADS/$name"
    { read -r complete && read -r truncated && read -r cut; } < <(
        stats_get "$stats" user_stacks.complete user_stacks.truncated user_stacks.truncated.32_bit)
    echo "$name: $complete complete, $truncated truncated, $cut of them of 32 bits"
    expect_account_adds_up "$stats"
    # Besides there is only the kernel's work of the exec, before the program has a stack.
    ((cut >= 100 && cut == truncated && complete == 0)) ||
        fail "$cut of $((complete + truncated)) stacks are said to be of a 32-bit program"
    grep -q "of 32-bit programs" "$TMPDIR/record.err" || fail "the summary does not say it"
    grep "^$name;\[truncated\];" "$folded" | sed -E 's/ [0-9]+$//; s/;[^;]*_\[k\].*//' | sort -u \
        >"$TMPDIR/stacks"
    cat "$TMPDIR/stacks"
    printf "$name;[truncated];%s\n" "$@" | sort >"$TMPDIR/allowed"
    [[ -z $(comm -23 "$TMPDIR/stacks" "$TMPDIR/allowed") ]] ||
        fail "stacks that cannot be: $(comm -23 "$TMPDIR/stacks" "$TMPDIR/allowed")"
}

check compat_fp \
    leaf _start 'middle;leaf' '_start;middle;leaf' '_start;middle;enters_kernel' \
    'middle;enters_kernel' enters_kernel '_start;middle' middle '_start;by_pointer' by_pointer
grep -q ';_start;middle;leaf' "$TMPDIR/compat_fp.folded" || fail "callers that calls prove are missing"
check compat_nofp leaf _start middle enters_kernel by_pointer \
    '_start;middle;leaf' 'middle;leaf'
