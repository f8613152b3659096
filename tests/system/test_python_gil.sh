#!/bin/bash
# Threads that wait for CPython's global interpreter lock are seen to, on each version that is here; those that sleep or wait
# for a lock of the program are not.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/python.sh"
need_recording
[[ $(uname -m) = x86_64 ]] || skip "futexes are known on x86-64 only"

# expect_gil NAME COMMAND…: it reads the program from its input, as it may have another root.
expect_gil() {
    local file=$TMPDIR/$1.folded held waited other least function
    shift
    record --off-cpu --period 1ms --stats "$TMPDIR/stats.json" -o "$file" -- "$@" - <"$program" >"$TMPDIR/held"
    expect_off_cpu_adds_up "$TMPDIR/stats.json"
    read -r held least <"$TMPDIR/held"
    waited=$(folded_match "$file" ';waits_for_the_gil;.*futex.*;\[GIL\];\[blocked\] ')
    other=$(folded_match "$file" ';waits_for_the_gil;.*(nanosleep|select).*;\[blocked\] ')
    echo "$file: the lock was held for $held us of CPU time; waited for it: $waited us, slept: $other us"
    expect_between "microseconds that were waited for the lock" "$waited" $((held / 4)) 1000000000
    ((other > 0)) || fail "waits_for_the_gil did not sleep: $(grep -F '[blocked]' "$file")"

    # All else that it waits for is no futex; what others wait for is one, but not this.
    other=$(grep ';waits_for_the_gil;.*futex.*;\[blocked\] ' "$file" | grep -vF ';[GIL];[blocked] ' || true)
    [[ -z $other ]] || fail "a futex that is not the lock: $other"
    other=$(grep -E '(nanosleep|select).*\[GIL\]|\[GIL\];\[(run queue|preempted|uninterruptible)\]' "$file" || true)
    [[ -z $other ]] || fail "no wait for the lock: $other"
    # The time of a sleep goes on where its thread loses its CPU before it has left it.
    for function in waits_for_a_lock sleeps; do
        waited=$(grep -E ";$function;.*(futex|nanosleep|select|poll).*;\[(blocked|preempted)\] " "$file" | grep -vF '[GIL]' |
            folded_total /dev/stdin)
        expect_between "microseconds that $function has waited" "$waited" $((least - 1000)) 1000000000
    done
}

program=$(dirname "$0")/../workloads/python_gil.py
num_pythons=0
while read -r version python; do
    [[ $version = 3.[89] || $version = 3.1[0-5] ]] || continue
    num_pythons=$((num_pythons + 1))
    read -ra command <<<"$python"
    expect_gil "python$version" "${command[@]}"
done < <(list_pythons)
((num_pythons)) || skip "needs python3 3.8 to 3.15 (package python3), which is not installed"

# The frame is where the futex's own is, too, and waits for futexes alone have it.
record --locks --min-block 1us --period 1ms -o "$TMPDIR/locks.offwake.folded" -- "${command[@]}" - <"$program" >"$TMPDIR/held"
grep -q ';waits_for_the_gil;.*;\[GIL\];\[blocked\];\[futex 0x[0-9a-f]*\];--;' "$TMPDIR/locks.offwake.folded" ||
    fail "no lock and futex in: $(head "$TMPDIR/locks.offwake.folded")"

# Who wants to see the interpreter sees its functions.
record --off-cpu --runtime-frames native -o "$TMPDIR/native.folded" -- "${command[@]}" - <"$program" >"$TMPDIR/held"
expect_no_frame "$TMPDIR/native.folded" "[GIL]"
