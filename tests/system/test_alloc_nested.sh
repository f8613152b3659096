#!/bin/bash
# --alloc and --live of programs whose allocator passes its calls on to libc's, as a preloaded library or in the program itself:
# both are probed, and each call of the program counts once, with what it has asked for.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command cc
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/allocations
if ! "$STACKWIDE" record --alloc -c 1 -o "$TMPDIR/first.folded" -- "$load" 1 2>"$TMPDIR/err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "record --alloc: $(cat "$TMPDIR/err")"
fi
sources=$(dirname "$0")
make_library() {
    cc -O2 -fno-builtin -w -shared -fPIC "${@:2}" -o "$TMPDIR/$1.so" "$sources/wrapper.c" -ldl || skip "the wrapper cannot be compiled"
}
make_library calling
make_library larger -DEXTRA=16
make_library jumping -DJUMPS
make_library calling_again -fvisibility=default
cc -O1 -fno-builtin -w -DOF_LIBC -o "$TMPDIR/allocations_with" "$sources/../workloads/allocations.c" "$sources/wrapper.c" ||
    skip "the program cannot be compiled"

# Of what the program has mapped: samples of before are walked later, and only so many of them.
has_tables() {
    local file
    for file in "$@"; do
        grep -q "the unwind table of .*$file.* is ready" "$TMPDIR/record.err" || return 1
    done
}

# record_wrapped PRELOAD PROGRAM WAY MODE ROUNDS: of a program that runs already
record_wrapped() {
    local running
    mkfifo "$TMPDIR/go"
    exec 3<>"$TMPDIR/go"
    # shellcheck disable=SC2016 # the inner shell's
    start bash -c '[[ -z $1 ]] || export LD_PRELOAD=$1; exec "$2" "$3" "$4" wait <"$5"' - "$1" "$2" "$4" "$5" "$TMPDIR/go" 3>&-
    running=$PID
    wait_until runs_program "$running" "$(basename "$2" | cut -c 1-15)"
    start_recording -p "$running" "$3" -c 1 --buffer-size 64M -o "$TMPDIR/x.folded" --stats "$TMPDIR/x.json" 3>&-
    # shellcheck disable=SC2086 # words
    wait_until has_tables "/$(basename "$2")" /libc.so ${1//:/ }
    echo >&3
    wait "$running"
    end_recording
    exec 3>&-
    rm "$TMPDIR/go"
    expect_account_adds_up "$TMPDIR/x.json"
    [[ $(stats_get "$TMPDIR/x.json" lost) = 0 ]] || fail "samples are lost: $(cat "$TMPDIR/x.json")"
}

expect_bytes() {
    local got
    got=$(folded_match "$TMPDIR/x.folded" "$2")
    [[ $got = "$3" ]] || fail "$1: $got bytes of $2, expected $3: $(cat "$TMPDIR/x.folded")"
}

each=$((1000 + 2 * 1700 + (1 << 20) + 1100 + 1200 + 1300 + 1400 + 1536 + 1600))
check() {
    local name=$1
    record_wrapped "$2" "$3" --alloc each 100
    expect_bytes "$name" '^allocations.*;main;' $((100 * each))
    expect_bytes "$name" '^allocations.*;by_calloc;' 110000
    expect_bytes "$name" '^allocations.*;by_wrapper;' 340000
    record_wrapped "$2" "$3" --live leak 100
    expect_bytes "$name, live" '^allocations.*;leak;' 200000
    expect_bytes "$name, live" '^allocations.*;by_cache;' 64000
    expect_bytes "$name, live" '^allocations.*;by_growth;' 6400
    expect_bytes "$name, live" '^allocations.*;(parse|index_words|log_line);' 0
}
check "a library that calls" "$TMPDIR/calling.so" "$load"
check "a library that asks for more" "$TMPDIR/larger.so" "$load"
check "a library that jumps" "$TMPDIR/jumping.so" "$load"
check "two libraries" "$TMPDIR/calling_again.so:$TMPDIR/jumping.so" "$load"
check "a program's own" "" "$TMPDIR/allocations_with"
