/*
 * One x86-64 instruction: its length, whether execution continues after it, and its encoded
 * operands. Just enough to find the end of a function of unknown size, and to follow the stack
 * pointer through its code.
 *
 * Thread-safe: there is no state.
 */
#ifndef OBJFILE_X86_64_INSTRUCTION_H
#define OBJFILE_X86_64_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/instruction_flow.h"

/* The opcode table. */
enum instruction_map {
	INSTRUCTION_MAP_ONE_BYTE,
	INSTRUCTION_MAP_0F,
	INSTRUCTION_MAP_0F38,
	INSTRUCTION_MAP_0F3A,
	INSTRUCTION_MAP_EVEX_5 = 5,
	INSTRUCTION_MAP_EVEX_6,
	INSTRUCTION_MAP_XOP_8 = 8,
	INSTRUCTION_MAP_XOP_9,
	INSTRUCTION_MAP_XOP_A,
};

struct instruction {
	enum instruction_kind kind; /* padding: nop, int3; end: ud2, hlt, iret */
	uint8_t length;             /* in bytes */
	bool is_direct;             /* a call or jump of any kind with its target encoded */
	int32_t distance; /* if is_direct: from the next instruction to the target, in bytes */
	enum instruction_map map;
	bool is_vex;             /* or EVEX, or XOP */
	bool has_operand_prefix; /* 66: 16-bit operands */
	bool has_repeat_prefix;  /* F2, F3 */
	uint8_t rex;             /* 0: none; not set for VEX */
	uint8_t opcode;
	uint8_t modrm;        /* 0: none */
	uint8_t sib;          /* likewise */
	int32_t displacement; /* of a memory operand; 0: none */
	int32_t immediate;    /* the last operand of 8 or 32 bits, sign-extended; 0: none */
};

/*
 * bytes   start of the instruction; size may extend far beyond it
 *
 * Returns false if the instruction is truncated or unknown (3DNow! and APX are unknown).
 *
 * Source: Intel SDM volume 2, chapter 2 and appendix A.
 */
bool instruction_decode(const uint8_t *bytes, size_t size, struct instruction *ret);

#endif
