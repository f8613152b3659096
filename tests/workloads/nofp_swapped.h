/*
 * A library of nofp_swaps: entry(DECOY, TURNS) takes a frame of FRAME bytes, puts DECOY into the word at PLACE of it,
 * and calls leaf(TURNS). Libraries that differ in these have their functions at the same offsets.
 */
#ifndef NOFP_SWAPPED_H
#define NOFP_SWAPPED_H

#include "spin.h"

__attribute__((noinline, used, visibility("hidden"))) void LEAF(long turns);

void LEAF(long turns)
{
	for (long i = 0; i < turns; i++)
		spin_once();
	__asm__ volatile("" ::: "memory");
}

#define TEXT(word)          TEXT_OF_VALUE(word)
#define TEXT_OF_VALUE(word) #word

/* clang-format off */
__asm__(".text\n"
	".p2align 6\n"
	".globl entry\n"
	".type entry, @function\n"
	"entry:\n"
	".cfi_startproc\n"
	"sub $" TEXT(FRAME) ", %rsp\n"
	".cfi_adjust_cfa_offset " TEXT(FRAME) "\n"
	"mov %rdi, " TEXT(PLACE) "(%rsp)\n"
	"mov %rsi, %rdi\n"
	".p2align 5\n"
	"call " TEXT(LEAF) "\n"
	"add $" TEXT(FRAME) ", %rsp\n"
	".cfi_adjust_cfa_offset -" TEXT(FRAME) "\n"
	"ret\n"
	".cfi_endproc\n"
	".size entry, . - entry\n");
/* clang-format on */

#endif
