#!/bin/bash
# --alloc and --live of programs whose allocator passes its calls on to libc's, as a preloaded library or in the program itself:
# both are probed, and each call of the program counts once, with what it has asked for.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/allocations
if ! "$STACKWIDE" record --alloc -c 1 -o "$TMPDIR/first.folded" -- "$load" 1 2>"$TMPDIR/err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "record --alloc: $(cat "$TMPDIR/err")"
fi

# Of what the program has mapped: samples of before are walked later, and only so many of them.
has_tables() {
    local file
    for file in "$@"; do
        grep -q "the unwind table of .*$file.* is ready" "$TMPDIR/record.err" || return 1
    done
}

# record_wrapped PRELOAD PROGRAM MODE ROUNDS OPTION…: of a program that runs already
record_wrapped() {
    local running
    mkfifo "$TMPDIR/go"
    exec 3<>"$TMPDIR/go"
    # shellcheck disable=SC2016 # the inner shell's
    start bash -c '[[ -z $1 ]] || export LD_PRELOAD=$1; exec "$2" ${3:+"$3"} "$4" wait <"$5"' - "$1" "$2" "$3" "$4" "$TMPDIR/go" 3>&-
    running=$PID
    wait_until runs_program "$running" "$(basename "$2" | cut -c 1-15)"
    start_recording -p "$running" -c 1 --buffer-size 64M -o "$TMPDIR/x.folded" --stats "$TMPDIR/x.json" "${@:5}" 3>&-
    # shellcheck disable=SC2086 # words
    [[ $* = *--user-stacks* ]] || wait_until has_tables "/$(basename "$2")" /libc.so ${1//:/ }
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
    record_wrapped "$2" "$3" each 100 --alloc
    expect_bytes "$name" '^allocations.*;main;' $((100 * each))
    expect_bytes "$name" '^allocations.*;by_calloc;' 110000
    expect_bytes "$name" '^allocations.*;by_wrapper;' 340000
    expect_bytes "$name" '^allocations.*;by_aligned_alloc;' 153600
    record_wrapped "$2" "$3" leak 100 --live
    expect_bytes "$name, live" '^allocations.*;leak;' 200000
    expect_bytes "$name, live" '^allocations.*;by_cache;' 64000
    expect_bytes "$name, live" '^allocations.*;by_growth;' 6400
    expect_bytes "$name, live" '^allocations.*;(parse|index_words|log_line);' 0
}
wrapper=$WORKLOADS/wrapper
if ! is_brief; then
    check "a library that calls" "${wrapper}_calls.so" "$load"
    check "a library that asks for more" "${wrapper}_asks_more.so" "$load"
    check "a library that jumps" "${wrapper}_jumps.so" "$load"
    check "a library that jumps and asks for more" "${wrapper}_jumps_for_more.so" "$load"
    check "a library whose helper calls" "${wrapper}_helps.so" "$load"
fi
check "a library whose helper jumps" "${wrapper}_helps_and_jumps.so" "$load"
is_brief || check "two libraries" "${wrapper}_again.so:${wrapper}_jumps.so" "$load"
check "two libraries with helpers" "${wrapper}_helps.so:${wrapper}_helps_and_jumps.so" "$load"
check "a program's own" "" "${load}_with"
# That of glibc itself, which calls itself the first time.
debugging=$(find /lib /usr/lib -name libc_malloc_debug.so.0 2>/dev/null | head -n 1)
if [[ -n $debugging ]]; then
    check "glibc's for debugging" "$debugging" "$load"
    export MALLOC_CHECK_=3
    check "glibc's for debugging, which checks" "$debugging" "$load"
    unset MALLOC_CHECK_
    # Hooks of the program: memory of their own, or that of the function itself.
    record_wrapped "$debugging" "$load" hook 100 --alloc
    expect_bytes "a hook" '^allocations.*;by_pool;' 100000
    expect_bytes "a hook" '^allocations.*;by_switch;' 200000
else
    echo "no libc_malloc_debug.so.0 here: it was not seen"
fi

# A function that no allocator is known by is called at the same place as malloc().
for name in calls helps; do
    record_wrapped "${wrapper}_$name.so" "$load" site 100 --alloc
    expect_bytes "one place, $name" '^allocations.*;by_site;' 1010000
done
# A signal's handler allocates in a wrapper that jumps afterwards.
for name in calls jumps jumps_for_more helps helps_and_jumps; do
    record_wrapped "${wrapper}_$name.so" "$load" signal 100 --alloc
    expect_bytes "a signal, $name" '^allocations.*;by_handler;' 5000
    expect_bytes "a signal, $name" '^allocations.*;by_interrupted;' 305000
done

# "operator new" of a program, with memory of its own. That of libstdc++ has no probes, also if it is a part of the program.
operators=$WORKLOADS/operators
record_wrapped "" "$operators" "" 100 --alloc
for place in by_pool:65000 by_header:500000 by_array:70000 by_malloc:1000; do
    expect_bytes "operator new" "^operators.*;${place%:*}[;(]" "${place#*:}"
done
record_wrapped "" "$operators" "" 100 --live
for place in by_pool:15000 by_header:0 by_array:0 by_malloc:0; do
    expect_bytes "operator new, live" "^operators.*;${place%:*}[;(]" "${place#*:}"
done

# By stacks that lack callers, and without.
for stacks in fp none; do
    ! is_brief || [[ $stacks = none ]] || continue
    for name in calls asks_more jumps_for_more helps helps_and_jumps; do
        record_wrapped "${wrapper}_$name.so" "$load" each 100 --alloc --user-stacks "$stacks"
        got=$(awk '/^allocations/ { sum += $NF } END { print sum }' "$TMPDIR/x.folded")
        [[ $got = $((100 * each)) ]] ||
            fail "--user-stacks $stacks, $name: $got bytes, expected $((100 * each)): $(cat "$TMPDIR/x.folded")"
    done
done

# A library that is loaded while recording and allocates at once, before its probes are there, and afterwards. A call that it
# passes on at that moment may be missing.
for name in calls helps jumps; do
    mkfifo "$TMPDIR/go"
    exec 3<>"$TMPDIR/go"
    # shellcheck disable=SC2016 # the inner shell's
    start bash -c 'exec "$1" load "$2" <"$3" >"$4"' - "$load" "${wrapper}_$name.so" "$TMPDIR/go" "$TMPDIR/number" 3>&-
    running=$PID
    wait_until runs_program "$running" allocations
    start_recording -p "$running" --alloc -c 1 --buffer-size 64M -o "$TMPDIR/x.folded" --stats "$TMPDIR/x.json" 3>&-
    wait_until has_tables /allocations /libc.so
    echo >&3
    wait_until grep -q "allocations of [^ ]*wrapper_$name.so count from" "$TMPDIR/record.err"
    wait_until has_tables "wrapper_$name.so"
    echo >&3
    wait "$running"
    end_recording
    exec 3>&-
    rm "$TMPDIR/go"
    expect_account_adds_up "$TMPDIR/x.json"
    [[ $(stats_get "$TMPDIR/x.json" lost) = 0 ]] || fail "samples are lost: $(cat "$TMPDIR/x.json")"
    expect_between "bytes of a library that is loaded late, which $name" "$(folded_match "$TMPDIR/x.folded" ';by_loaded;')" \
        $(($(cat "$TMPDIR/number") - 1000)) "$(cat "$TMPDIR/number")"
done
