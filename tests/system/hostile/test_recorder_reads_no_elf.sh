#!/bin/bash
# The process that has the rights never opens an ELF file by libelf or libdw: not while it records by
# unwind tables that have to be built, by a copy of the stack, or by frame pointers, nor at the end.
# runs: in turn
. "$(dirname "$0")/../lib.sh"
need_recording

# The sanitizer wants to come first.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
calls=$TMPDIR/calls
watched=(env LD_PRELOAD="$WORKLOADS/elf_calls.so" ELF_CALLS="$calls")

# What reads ELF files in its own process is seen.
"${watched[@]}" "$STACKWIDE" unwind-table "$WORKLOADS/deep" >/dev/null
cat "$calls"
has_line elf_begin <"$calls" || fail "the calls are not seen"

start "$WORKLOADS/deep" 60
start "$WORKLOADS/nofp_deep" 60
start "$WORKLOADS/nofp_undescribed" 60
for options in "" "--no-cache" "--user-stacks table" "--user-stacks fp"; do
    : >"$calls"
    # shellcheck disable=SC2086 # a list of options
    "${watched[@]}" "$STACKWIDE" record -F 999 -a -d 0.5 $options -o "$TMPDIR/x.folded" \
        2>"$TMPDIR/record.err" || fail "status $?: $(cat "$TMPDIR/record.err")"
    expect_frame "$TMPDIR/x.folded" level_10 50
    [[ ! -s $calls ]] || fail "record $options: $(sort "$calls" | uniq -c)"
done
