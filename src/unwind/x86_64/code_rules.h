/*
 * Rules for code that no call-frame information describes, by following its instructions from where
 * functions begin.
 *
 * Nothing is taken on trust: a function's rules are used only where execution that begins with the
 * return address on top of the stack comes to a return, or leaves for another function, with just
 * that on top of the stack again, and with the caller's rbp and rbx where they were; and where no
 * instruction is reached in two different states.
 *
 * x86-64. Not thread-safe; different ones are independent.
 */
#ifndef UNWIND_CODE_RULES_H
#define UNWIND_CODE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "unwind/frame_program.h"
#include "unwind/x86_64/stack_effect.h"

/* Longer stretches of code are followed to here only. 12 bytes of memory each. */
#define CODE_RULES_MAX_BYTES (1u << 20)

/* How much speaks for a function beginning at an address. */
enum code_start_kind {
	CODE_START_GUESSED,       /* something that looks like a call or a pointer leads there */
	CODE_START_ADDRESS_TAKEN, /* by code that was followed */
	CODE_START_KNOWN,         /* a symbol, or a call */
};

struct code_rules;

/* code: size bytes, borrowed; address: ELF address of the first. NULL when out of memory. */
struct code_rules *code_rules_new(const uint8_t *code, size_t size, uint64_t address);
void code_rules_free(struct code_rules *rules);
static inline void code_rules_freep(struct code_rules **rules)
{
	code_rules_free(*rules);
}

/* Forget all, and begin with other code, which is not larger than that of code_rules_new(). */
void code_rules_move(struct code_rules *rules, const uint8_t *code, size_t size, uint64_t address);

/* An address that a function begins at; outside of the code it is ignored. Returns 0 or -ENOMEM. */
_must_check_ int code_rules_add_start(struct code_rules *rules, uint64_t address,
				      enum code_start_kind kind);

/*
 * Follow the code from all starts, from what they call, and then what is left: code behind jumps
 * through tables, and functions that nothing leads to. Returns 0 or -ENOMEM.
 */
_must_check_ int code_rules_follow(struct code_rules *rules);

/* Whether there are starts that were added since. */
bool code_rules_must_follow(const struct code_rules *rules);

/* A function elsewhere that the code calls, or takes the address of. */
struct code_exit {
	uint64_t address;
	enum code_start_kind kind;
};

/* Borrowed until code_rules_follow() is called again. */
const struct code_exit *code_rules_get_exits(const struct code_rules *rules, size_t *ret_num);

/* A stretch of code in which each instruction has a rule. */
struct code_stretch {
	uint64_t start;
	uint64_t end; /* first ELF address behind it */
	size_t first_row;
	size_t num_rows; /* never 0; the first one is at the start */
};

/*
 * Add what has been found to be right, in order of address, to both arrays. Returns 0 or -ENOMEM.
 */
struct code_stretches {
	ARRAY(struct code_stretch) items;
	ARRAY(struct frame_row) rows;
};
_must_check_ int code_rules_get(struct code_rules *rules, struct code_stretches *ret);
void code_stretches_release(struct code_stretches *stretches);

#endif
