#!/bin/bash
# A dynamic symbol without size, in a stripped library, does not give its name to the functions
# behind it: these are known by where they start. The account says how many names came from such.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command cc
need_command strip

# Five functions that spin for as long, some ticks each: two that are exported, by symbols without size, and
# behind them three that have no symbols when the library is stripped.
cat >"$TMPDIR/sizeless.S" <<'END'
.macro spin
        push    %rcx
        mov     $8000000, %ecx
9:      dec     %ecx
        jnz     9b
        pop     %rcx
.endm
        .text
        .globl  sizeless_all
        .type   sizeless_all, @function
sizeless_all:
        .cfi_startproc
        push    %rbx
        .cfi_def_cfa_offset 16
        mov     %rdi, %rbx
1:      call    inner_near
        call    inner_behind
        call    inner_framed
        call    inner_bare
        call    inner_far
        dec     %rbx
        jnz     1b
        pop     %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   sizeless_all, .-sizeless_all

        .p2align 4
        .globl  sizeless_near
sizeless_near:
inner_near:
        spin
        test    %ecx, %ecx
        js      2f
        ret
2:      ud2
inner_behind:
        spin
        ret

        .p2align 4
        .globl  sizeless_framed
sizeless_framed:
inner_framed:
        .cfi_startproc
        spin
        ret
        .cfi_endproc
inner_bare:
        spin
        ret
        .skip   100000, 0xcc
inner_far:
        spin
        ret
        .section .note.GNU-stack, "", @progbits
END
cat >"$TMPDIR/host.c" <<'END'
#include "spin.h"

void sizeless_all(unsigned long number);

int main(void)
{
	uint64_t end = read_cpu_ns() + NS_PER_SECOND;

	while (read_cpu_ns() < end)
		sizeless_all(1);
	return 0;
}
END
cc -shared -o "$TMPDIR/libsizeless.so" "$TMPDIR/sizeless.S"
cc -std=gnu17 -O2 -D_GNU_SOURCE -I"$REPO/tests/workloads" -o "$TMPDIR/host" "$TMPDIR/host.c" \
    "$TMPDIR/libsizeless.so" -Wl,-rpath,"$TMPDIR"
# place NAME: where the function starts, as frames show it.
place() {
    nm "$TMPDIR/whole.so" | awk -v name="$1" '$3 == name { sub(/^0+/, "", $1); print "libsizeless.so+0x" $1 }'
}
cp "$TMPDIR/libsizeless.so" "$TMPDIR/whole.so"
strip "$TMPDIR/libsizeless.so"

record -F 999 -o "$TMPDIR/sizeless.folded" --stats "$TMPDIR/sizeless.json" -- "$TMPDIR/host"
expect_account_adds_up "$TMPDIR/sizeless.json"
for name in sizeless_near sizeless_framed "$(place inner_behind)" "$(place inner_bare)" "$(place inner_far)"; do
    share=$(folded_share "$TMPDIR/sizeless.folded" "$name" host)
    echo "$name: $share %"
    expect_near "share of $name" "$share" 20 5
done

# The symbols without size of libc and of the dynamic linker are in it, too: a few samples.
named=$(folded_match "$TMPDIR/sizeless.folded" ';sizeless_(near|framed)[; ]')
counted=$(stats_get "$TMPDIR/sizeless.json" frames.sizeless)
expect_between "the number of frames named by symbols without a size" "$counted" "$named" $((named + 50))
grep -q 'named by symbols without a size' "$TMPDIR/record.err" || fail "the summary does not say so"
