/*
 * DWARF expressions, evaluated over made-up registers and memory.
 */
#ifndef TESTS_EXPRESSION_EVALUATOR_H
#define TESTS_EXPRESSION_EVALUATOR_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

#include "base/hash.h"

#define NUM_REGISTERS 17
#define DEPTH_MAX     16

static inline uint64_t read_memory(uint64_t address)
{
	return hash_mix(0x57ac, address);
}

struct evaluation {
	uint64_t stack[DEPTH_MAX];
	unsigned int depth;
	bool is_value;   /* the result is the value, not the address of it */
	bool is_unknown; /* something that this evaluator does not know */
};

static inline void push(struct evaluation *evaluation, uint64_t value)
{
	if (evaluation->depth == DEPTH_MAX)
		evaluation->is_unknown = true;
	else
		evaluation->stack[evaluation->depth++] = value;
}

static inline uint64_t pop(struct evaluation *evaluation)
{
	if (evaluation->depth == 0) {
		evaluation->is_unknown = true;
		return 0;
	}
	return evaluation->stack[--evaluation->depth];
}

static inline uint64_t combine(uint8_t atom, uint64_t left, uint64_t right)
{
	switch (atom) {
	case DW_OP_plus:
		return left + right;
	case DW_OP_minus:
		return left - right;
	case DW_OP_mul:
		return left * right;
	case DW_OP_and:
		return left & right;
	case DW_OP_shl:
		return right < 64 ? left << right : 0;
	default:
		return (int64_t)left >= (int64_t)right; /* DW_OP_ge */
	}
}

static inline void evaluate_operation(struct evaluation *evaluation, const uint64_t *registers,
				      const Dwarf_Op *op, uint64_t cfa)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg16) {
		push(evaluation, registers[op->atom - DW_OP_breg0] + op->number);
		return;
	}
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(evaluation, op->atom - DW_OP_lit0);
		return;
	}
	switch (op->atom) {
	case DW_OP_bregx:
		push(evaluation, registers[op->number % NUM_REGISTERS] + op->number2);
		break;
	case DW_OP_regx:
		push(evaluation, registers[op->number % NUM_REGISTERS]);
		evaluation->is_value = true;
		break;
	case DW_OP_call_frame_cfa:
		push(evaluation, cfa);
		break;
	case DW_OP_plus_uconst:
		push(evaluation, pop(evaluation) + op->number);
		break;
	case DW_OP_deref:
		push(evaluation, read_memory(pop(evaluation)));
		break;
	case DW_OP_stack_value:
		evaluation->is_value = true;
		break;
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_and:
	case DW_OP_shl:
	case DW_OP_ge: {
		uint64_t right = pop(evaluation);

		push(evaluation, combine(op->atom, pop(evaluation), right));
		break;
	}
	default:
		evaluation->is_unknown = true;
	}
}

#endif
