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

/* A distance that is not known. */
#define STACK_STATE_NONE INT16_MIN

/*
 * All in units of 8 bytes down from the CFA, which is where rsp points to when the function has
 * returned. What is no multiple of 8, or farther than 256 KiB, is not known.
 */
struct stack_state {
	int16_t sp;
	int16_t fp;       /* rbp, while it is a frame pointer */
	int16_t saved_fp; /* where the caller's rbp is; 0: in rbp */
	int16_t saved_bx; /* likewise of rbx */
};

/* At the entry of a function: the return address has just been pushed. */
#define STACK_STATE_AT_ENTRY ((struct stack_state){.sp = 1, .fp = STACK_STATE_NONE})

/* Neither rsp nor rbp says where the CFA is. */
static inline bool stack_state_is_lost(const struct stack_state *state)
{
	return state->sp == STACK_STATE_NONE && state->fp == STACK_STATE_NONE;
}

/* As it was at the entry: what may be returned with. */
static inline bool stack_state_is_at_exit(const struct stack_state *state)
{
	return state->sp == 1 && !state->saved_fp && !state->saved_bx;
}

/*
 * After the instruction. Calls are left out: they leave all as it was. What is written to rsp in a
 * way that is not followed makes it unknown.
 */
void stack_effect_apply(struct stack_state *state, const struct instruction *instruction);

/* The rule of a state that is not lost. */
struct unwind_rule stack_state_get_rule(const struct stack_state *state);

#endif
