/*
 * The state of call-frame instructions at one address, and its conversion to a rule.
 *
 * A state can express more than a rule: a later instruction may bring it back to what a rule can
 * express.
 */
#ifndef UNWIND_FRAME_RULE_H
#define UNWIND_FRAME_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/registers.h"
#include "wire/unwind.h"

/* DWARF numbers of the registers; REGISTER_PC is the column of the return address. */
enum dwarf_register {
#define REGISTER_NUMBER(name, NAME, saved, perf, dwarf, context) REGISTER_##NAME = (dwarf),
	WIRE_FOR_EACH_REGISTER(REGISTER_NUMBER)
#undef REGISTER_NUMBER
};

enum frame_saved {
	FRAME_SAVED_SAME = 0,
	FRAME_SAVED_AT_CFA,      /* at CFA + offset */
	FRAME_SAVED_AT_FP,       /* at this frame's fp + offset */
	FRAME_SAVED_AT_SP,       /* at this frame's sp + offset */
	FRAME_SAVED_IN_REGISTER, /* in the register whose DWARF number the offset is */
	FRAME_SAVED_UNDEFINED,
	FRAME_SAVED_ELSEWHERE, /* undefined, or of an unknown form */
};

/* Location of the caller's value of a register. */
struct frame_register {
	int64_t offset;         /* in bytes */
	enum frame_saved where; /* the base that the offset is relative to */
};

/* The rules that hold at one address. */
struct frame_state {
	struct frame_register fp;
	struct frame_register bx;
	struct frame_register ra;
	struct frame_register sp; /* SAME: it is the CFA */
	int64_t cfa_offset;       /* in bytes */
	uint64_t cfa_register;    /* DWARF number, if the CFA is a register and an offset */
	uint8_t cfa_op;           /* enum unwind_cfa_op */
	/* The CFA is a register and an offset, which instructions may change one by one. */
	bool is_cfa_register;
};

/*
 * The rule of a state. States without a caller all give the same rule.
 *
 * ret  UNWIND_CFA_UNSUPPORTED if no rule can express it
 *
 * Returns false if rules cannot express where fp or bx is saved; it counts as lost then.
 */
bool frame_rule_make(const struct frame_state *state, bool is_signal_frame,
		     struct unwind_rule *ret);

#endif
