#!/bin/bash
# --alloc probes the allocators that are there at its start, and libc: that of a file which is mapped later is named,
# with the file; what was probed is not.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/allocations
libc=$(ldd "$load" | awk '$1 ~ /^libc\.so/ { print $3 }')
[[ -e $libc ]] || skip "the program has no libc of its own"
mkdir "$TMPDIR/later"
cp "$libc" "$TMPDIR/later/"

# expect_late NUMBER OPTION… -- COMMAND…
expect_late() {
    local wanted=$1 late
    shift
    if ! "$STACKWIDE" record -c 1 --buffer-size 64M -o "$TMPDIR/x.folded" --stats "$TMPDIR/x.json" "$@" 2>"$TMPDIR/err"; then
        ! grep -q 'needs Linux 5.15' "$TMPDIR/err" || skip "this kernel does not tell a program which of its probes was hit"
        fail "record $*: $(cat "$TMPDIR/err")"
    fi
    late=$(stats_get "$TMPDIR/x.json" processes.late_allocators)
    [[ $late = "$wanted" ]] || fail "$late allocators came later, expected $wanted: $*"
    if ((wanted)); then
        grep -qF "$TMPDIR/later/" "$TMPDIR/err" || fail "the file is not named: $(cat "$TMPDIR/err")"
    else
        ! grep -q 'mapped after the start' "$TMPDIR/err" || fail "a warning without a reason: $(cat "$TMPDIR/err")"
    fi
}

# shellcheck disable=SC2016
for way in --alloc --live; do
    expect_late 0 "$way" -- sh -c '"$0" each 10; exec "$0" each 10' "$load"
    expect_late 1 "$way" -- sh -c 'LD_LIBRARY_PATH=$1 "$0" each 10; exec "$0" each 10' "$load" "$TMPDIR/later"
done
