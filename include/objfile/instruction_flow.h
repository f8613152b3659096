/*
 * The length of an instruction, and how execution goes on after it: as in code of every
 * architecture. architecture_decode() reads it.
 */
#ifndef OBJFILE_INSTRUCTION_FLOW_H
#define OBJFILE_INSTRUCTION_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/* Size of the longest instruction of any architecture, in bytes. */
#define INSTRUCTION_MAX_BYTES 15

enum instruction_kind {
	INSTRUCTION_PLAIN,
	INSTRUCTION_PADDING, /* between functions: nop of any length, or a trap */
	INSTRUCTION_CALL,
	INSTRUCTION_BRANCH,     /* conditional */
	INSTRUCTION_SHORT_JUMP, /* by a distance of 8 bits */
	INSTRUCTION_JUMP,       /* any other jump, also indirect */
	INSTRUCTION_RETURN,
	INSTRUCTION_END, /* execution does not continue after it */
};

struct instruction_flow {
	enum instruction_kind kind;
	uint8_t length;   /* in bytes */
	bool is_trap;     /* padding that is not executed */
	bool is_direct;   /* a call or jump of any kind with its target encoded */
	int32_t distance; /* if is_direct: from the next instruction to the target, in bytes */
};

#endif
