#!/bin/bash
# Stacks of coroutines end at the frame that makecontext() has put there, whatever thread runs them; or, of those
# that a program prepares itself, at their function.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording

record_walk nofp_coroutine 1
folded=$TMPDIR/nofp_coroutine.folded
# The beginning is a function of libc that most systems have no symbol for.
beginning='^nofp_coroutine;(__start_context|libc[^;]*\+0x[0-9a-f]+)'
whole=$(folded_match "$folded" "$beginning;run_p[io]ng;burn_down")
others=$(folded_match "$folded" ';run_p[io]ng[; ]')
others=$((others - $(folded_match "$folded" "$beginning;run_p[io]ng[; ]")))
echo "$whole samples begin at $(grep -oE "$beginning;run_p" "$folded" | cut -d';' -f2 | sort -u)," \
    "$others elsewhere"
((whole >= 100)) || fail "only $whole samples on stacks of makecontext(), expected at least 100"
((others == 0)) || fail "$others samples of coroutines do not begin at __start_context"
for name in run_ping run_pong; do
    expect_between "share of $name" "$(folded_share "$folded" $name)" 10 90
done
expect_frame "$folded" "run_ping;burn_down;burn_down;burn_down;burn_down" 30
expect_frame "$folded" "run_pong;burn_down;burn_down;burn_down;burn_down;burn_down;burn_down" 30

if [[ $(uname -m) = x86_64 ]]; then
    whole=$(folded_match "$folded" '^nofp_coroutine;run_bare;burn_down;burn_down;burn_down')
    others=$(folded_match "$folded" ';run_bare[; ]')
    others=$((others - $(folded_match "$folded" '^nofp_coroutine;run_bare[; ]')))
    echo "$whole samples begin at run_bare, $others elsewhere"
    ((whole >= 50)) || fail "only $whole samples on bare stacks, expected at least 50"
    ((others == 0)) || fail "$others samples of bare coroutines do not begin at run_bare"
fi

# One beginning for all, and it is the start of a function.
name=$(grep -oE "$beginning;run_p" "$folded" | cut -d';' -f2 | sort -u)
[[ $(wc -l <<<"$name") = 1 ]] || fail "stacks of coroutines begin at: $name"
if [[ $name = libc*+0x* ]] && command -v readelf >/dev/null; then
    libc=$(ldd "$WORKLOADS/nofp_coroutine" | awk '/libc\.so/ { print $3 }')
    readelf --debug-dump=frames "$libc" | has_line "pc=0*${name##*+0x}\.\." ||
        fail "no function of $libc begins at ${name##*+}"
fi
