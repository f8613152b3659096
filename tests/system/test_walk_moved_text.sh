#!/bin/bash
# Code that mremap() moved keeps its name, although the kernel does not tell of the move.
# runs: beside others
source "$(dirname "$0")/lib.sh"
need_recording
need_command cc

cat >"$TMPDIR/plugin.c" <<'END_OF_SOURCE'
/* In a page of its own: everything around it stays where it is. */
__attribute__((section(".text.moved"), aligned(4096), noinline)) void moved_burn(void (*callback)(void))
{
	for (int i = 0; i < 100000; i++)
		__asm__ volatile("" ::"r"(i) : "memory");
	callback();
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

__attribute__((section(".text.moved"), aligned(4096), used)) static void behind_moved(void)
{
}
END_OF_SOURCE
cat >"$TMPDIR/moves.c" <<'END_OF_SOURCE'
#include <stdint.h>
#include <sys/mman.h>

#include "spin.h"

void moved_burn(void (*callback)(void));

static volatile int num_calls;

static __attribute__((noinline)) void called_back(void)
{
	spin_once();
	num_calls++;
}

int main(void)
{
	uint64_t end_ns;
	void *room;
	void (*burn)(void (*)(void));

	/* What is sampled before the move is known. */
	moved_burn(called_back);
	room = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mremap((void *)moved_burn, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (char *)room + (1 << 19)) == MAP_FAILED)
		return 1;
	burn = (void (*)(void (*)(void)))((char *)room + (1 << 19));
	end_ns = read_cpu_ns() + 2 * NS_PER_SECOND;
	while (read_cpu_ns() < end_ns)
		burn(called_back);
	return num_calls == 0;
}
END_OF_SOURCE
cc -O2 -fPIC -shared -o "$TMPDIR/libplugin.so" "$TMPDIR/plugin.c"
cc -std=gnu17 -O2 -D_GNU_SOURCE -I"$REPO/tests/workloads" -o "$TMPDIR/moves" "$TMPDIR/moves.c" \
    "$TMPDIR/libplugin.so" -Wl,-rpath,"$TMPDIR"

record -F 999 -o "$TMPDIR/moved.folded" --stats "$TMPDIR/moved.json" -- "$TMPDIR/moves"
expect_account_adds_up "$TMPDIR/moved.json"
grep -v '_\[k\]' "$TMPDIR/moved.folded" | head -n 20
expect_between "the share of moved_burn" "$(folded_share "$TMPDIR/moved.folded" moved_burn moves)" 90 100
expect_near "the share of what it calls" \
    "$(folded_share "$TMPDIR/moved.folded" "main;moved_burn;called_back" moves)" 48 8
expect_between "the share of what has no name" "$(folded_share "$TMPDIR/moved.folded" "[unknown]" moves)" 0 8
