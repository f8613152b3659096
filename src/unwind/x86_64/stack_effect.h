/*
 * Effect of one x86-64 instruction on the location of the CFA: on rsp, on rbp as a frame pointer,
 * and on the locations of the caller's rbp and rbx.
 *
 * Thread-safe: the only state is passed by the caller.
 */
#ifndef UNWIND_STACK_EFFECT_H
#define UNWIND_STACK_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/x86_64/instruction.h"
#include "wire/unwind.h"

/* Bytes of a unit. Compilers move rsp by multiples of 8, people by others, too (x265: 82). */
#define STACK_STATE_UNIT 2
/* An unknown distance. */
#define STACK_STATE_NONE INT16_MIN

/*
 * All in units down from the CFA, which is the value of rsp after the function has returned. A
 * distance that is no multiple of a unit, or larger than 32 KiB, is unknown.
 *
 * Assembly aligns rsp after copying it to a register, which it may store in the frame and then
 * reuse:
 *
 *	mov %rsp,%r10; and $-64,%rsp; sub $192,%rsp; mov %r10,128(%rsp); …; mov 128(%rsp),%rsp; ret
 *
 * Positions in that frame are tracked separately, in units down from one above the aligned value of
 * the copy.
 */
struct stack_state {
	int16_t sp;
	int16_t fp;            /* rbp, while it is a frame pointer */
	int16_t saved_fp;      /* location of the caller's rbp; 0: in rbp */
	int16_t saved_bx;      /* likewise of rbx */
	int16_t copy;          /* target of the copy; 0: no copy, and the rest is 0 */
	int16_t copy_slot;     /* location of the copy in the aligned frame; 0: not stored */
	int16_t aligned_sp;    /* rsp in the aligned frame; 0: not in one */
	uint8_t copy_register; /* number in instructions; STACK_STATE_NO_REGISTER: overwritten */
	uint8_t zero;          /* states are compared as bytes */
};
/* rsp is no copy of itself. */
#define STACK_STATE_NO_REGISTER 4

/* At the entry of a function: the return address has just been pushed. */
#define STACK_STATE_AT_ENTRY \
	((struct stack_state){.sp = 8 / STACK_STATE_UNIT, .fp = STACK_STATE_NONE})

/* Whether the location of the CFA is unknown. */
bool stack_state_is_lost(const struct stack_state *state);

/* Whether the state is that of the entry, in which the function may return. */
static inline bool stack_state_is_at_exit(const struct stack_state *state)
{
	return state->sp == 8 / STACK_STATE_UNIT && !state->saved_fp && !state->saved_bx;
}

/* Whether execution may reach an instruction in both states. */
bool stack_state_is_same(const struct stack_state *a, const struct stack_state *b);

/* Forget the copy of rsp: no alignment follows it. */
void stack_state_drop_copy(struct stack_state *state);

/* Whether the instruction aligns rsp. */
bool stack_effect_is_alignment(const struct instruction *instruction);

/*
 * Apply an instruction other than a call. For a jump the result is the state at its target. A write
 * to rsp that is not followed makes rsp unknown.
 */
void stack_effect_apply(struct stack_state *state, const struct instruction *instruction);

/*
 * Apply a call of a function that keeps to the calling convention: registers that it may change
 * become unknown.
 */
void stack_effect_apply_call(struct stack_state *state);

/* The rule of a state that is not lost. */
struct unwind_rule stack_state_get_rule(const struct stack_state *state);

#endif
