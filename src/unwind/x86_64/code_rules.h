/*
 * Derive rules for code without call-frame information, by following its instructions from the
 * starts of functions.
 *
 * Nothing is trusted. Execution must start with the return address on top of the stack, and reach a
 * return or another function in the same state, with the caller's rbp and rbx restored. Otherwise
 * the function's rules are not used. No instruction may be reached in two different states.
 *
 * x86-64. Not thread-safe; separate instances are independent.
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

/* Evidence that a function starts at an address. */
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

/* Reset, and start with other code, which is not larger than that of code_rules_new(). */
void code_rules_move(struct code_rules *rules, const uint8_t *code, size_t size, uint64_t address);

/*
 * Add the address of a function start; addresses outside of the code are ignored. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int code_rules_add_start(struct code_rules *rules, uint64_t address,
				      enum code_start_kind kind);

/*
 * Follow the code from all starts, then from the functions that it calls, then the leftovers: code
 * after jumps through tables, and functions without references. Returns 0 or -ENOMEM.
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

/* A block of code in which each instruction has a rule. */
struct code_stretch {
	uint64_t start;
	uint64_t end; /* first ELF address after it */
	size_t first_row;
	size_t num_rows; /* never 0; the first one is at the start */
};

/* Append the code that was proved, in order of address, to both arrays. Returns 0 or -ENOMEM. */
struct code_stretches {
	ARRAY(struct code_stretch) items;
	ARRAY(struct frame_row) rows;
};
_must_check_ int code_rules_get(struct code_rules *rules, struct code_stretches *ret);
void code_stretches_release(struct code_stretches *stretches);

#endif
