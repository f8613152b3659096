#!/bin/bash
# --alloc tells of programs without libraries and without an allocator that it knows, such as a static one that was stripped:
# without a word, none of their allocations would be a program that allocates nothing.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command strip
[[ -e /sys/bus/event_source/devices/uprobe ]] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"

load=$WORKLOADS/allocations
[[ -x ${load}_static ]] || skip "no static libc here"
if ! "$STACKWIDE" record --alloc -c 1 -o "$TMPDIR/first.folded" -- "$load" 1 2>"$TMPDIR/err"; then
    ! grep -q 'needs Linux 5.15' "$TMPDIR/err" || skip "this kernel does not tell a program which of its probes was hit"
    fail "record --alloc: $(cat "$TMPDIR/err")"
fi

# expect_unknown COUNT COMMAND…
expect_unknown() {
    record --alloc -c 1 --buffer-size 64M -o "$TMPDIR/x.folded" --stats "$TMPDIR/x.json" -- "${@:2}"
    [[ $(stats_get "$TMPDIR/x.json" processes.unknown_allocators) = "$1" ]] ||
        fail "${*:2}: expected $1 without a known allocator: $(cat "$TMPDIR/x.json")"
    if (($1)); then
        grep -q "$1 programs\? ha\(s\|ve\) an unknown allocator.*/allocations_[a-z]*" "$TMPDIR/record.err" || fail "the summary does not tell"
    else
        ! grep -q 'an unknown allocator' "$TMPDIR/record.err" || fail "a warning without a reason"
    fi
}
expect_unknown 0 "$load" each 10
expect_unknown 0 "${load}_static" each 10
strip -o "$TMPDIR/allocations_stripped" "${load}_static"
expect_unknown 1 "$TMPDIR/allocations_stripped" each 10
# That of a command that is run later, twice, and a word of one that is not run.
expect_unknown 1 sh -c "'$TMPDIR/allocations_stripped' each 10; '$TMPDIR/allocations_stripped' each 10"
expect_unknown 0 wc -c "$TMPDIR/allocations_stripped"
# Go has an allocator of its own, beside the C library that it uses.
if command -v go >/dev/null && command -v cc >/dev/null; then
    cat >"$TMPDIR/main.go" <<'GO'
package main

/*
#include <stdlib.h>
*/
import "C"

var kept []byte

func main() {
	C.free(C.malloc(1000))
	kept = make([]byte, 100000)
}
GO
    (cd "$TMPDIR" && CGO_ENABLED=1 HOME=$TMPDIR go build -o allocations_go main.go) || fail "the program in Go cannot be built"
    expect_unknown 1 "$TMPDIR/allocations_go"
else
    echo "no Go with a C compiler here: programs in Go were not seen"
fi
