/*
 * What one x86-64 instruction does to where the CFA is: to rsp, to rbp as a frame pointer, and to
 * where the caller's rbp and rbx are.
 *
 * Thread-safe: there is no state but what the caller passes.
 */
#ifndef UNWIND_STACK_EFFECT_H
#define UNWIND_STACK_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/instruction.h"
#include "wire/unwind.h"

/* Bytes of a unit. Compilers move rsp by multiples of 8, people by others, too (x265: 82). */
#define STACK_STATE_UNIT 2
/* A distance that is not known. */
#define STACK_STATE_NONE INT16_MIN

/*
 * All in units down from the CFA, which is where rsp points to when the function has
 * returned. What is no multiple of a unit, or farther than 32 KiB, is not known.
 *
 * Assembly aligns rsp after copying it to a register, which it may store in the frame and use for something else:
 *
 *	mov %rsp,%r10; and $-64,%rsp; sub $192,%rsp; mov %r10,128(%rsp); …; mov 128(%rsp),%rsp; ret
 *
 * Places in that frame are known apart from that, in units down from one above what `and` would have made of the copy.
 */
struct stack_state {
	int16_t sp;
	int16_t fp;         /* rbp, while it is a frame pointer */
	int16_t saved_fp;   /* where the caller's rbp is; 0: in rbp */
	int16_t saved_bx;   /* likewise of rbx */
	int16_t copy;       /* what the copy points to; 0: there is no copy, and the rest is 0 */
	int16_t copy_slot;  /* where the copy is stored in the aligned frame; 0: nowhere */
	int16_t aligned_sp; /* rsp in the aligned frame; 0: it is in none */
	uint8_t copy_register; /* its number in instructions; STACK_STATE_NO_REGISTER: in none any more */
	uint8_t zero;          /* states are compared as bytes */
};
/* rsp is no copy of itself. */
#define STACK_STATE_NO_REGISTER 4

/* At the entry of a function: the return address has just been pushed. */
#define STACK_STATE_AT_ENTRY \
	((struct stack_state){.sp = 8 / STACK_STATE_UNIT, .fp = STACK_STATE_NONE})

/* Nothing says where the CFA is. */
bool stack_state_is_lost(const struct stack_state *state);

/* As it was at the entry: what may be returned with. */
static inline bool stack_state_is_at_exit(const struct stack_state *state)
{
	return state->sp == 8 / STACK_STATE_UNIT && !state->saved_fp && !state->saved_bx;
}

/* Whether execution may reach an instruction in both states. */
bool stack_state_is_same(const struct stack_state *a, const struct stack_state *b);

/* Forget what rsp was copied to: it is not about to be aligned. */
void stack_state_drop_copy(struct stack_state *state);

/* Whether the instruction aligns rsp. */
bool stack_effect_is_alignment(const struct instruction *instruction);

/*
 * After the instruction, which is no call; of a jump, where execution goes on. What is written to rsp in a way that is not followed makes it unknown.
 */
void stack_effect_apply(struct stack_state *state, const struct instruction *instruction);

/* After a call of a function that keeps to the calling convention: registers that it may change are not known any more. */
void stack_effect_apply_call(struct stack_state *state);

/* The rule of a state that is not lost. */
struct unwind_rule stack_state_get_rule(const struct stack_state *state);

#endif
