#include "unwind/frame_rule.h"

#include "unwind/x86_64/frame_forms.h"

/* A place relative to the stack pointer is CFA-relative if the CFA is relative to it, too. */
static struct frame_register relate_to_cfa(const struct frame_state *state,
					   struct frame_register saved)
{
	if (saved.where != FRAME_SAVED_AT_SP)
		return saved;
	saved.where = state->cfa_op != UNWIND_CFA_SP ||
				      __builtin_sub_overflow(saved.offset, state->cfa_offset,
							     &saved.offset)
			      ? FRAME_SAVED_ELSEWHERE
			      : FRAME_SAVED_AT_CFA;
	return saved;
}

/* Returns false if rules cannot express where the register is saved. */
static bool set_register_rule(const struct frame_state *state, struct frame_register saved,
			      wire_u8 *op, short *offset)
{
	saved = relate_to_cfa(state, saved);
	switch (saved.where) {
	case FRAME_SAVED_SAME:
		*op = UNWIND_REGISTER_SAME;
		return true;
	case FRAME_SAVED_AT_CFA:
	case FRAME_SAVED_AT_FP:
		*op = UNWIND_REGISTER_UNDEFINED;
		if (saved.offset < INT16_MIN || saved.offset > INT16_MAX)
			return false;
		*op = saved.where == FRAME_SAVED_AT_CFA ? UNWIND_REGISTER_AT_CFA
							: UNWIND_REGISTER_AT_FP;
		*offset = (short)saved.offset;
		return true;
	case FRAME_SAVED_UNDEFINED:
		*op = UNWIND_REGISTER_UNDEFINED;
		return true;
	case FRAME_SAVED_IN_REGISTER:
	case FRAME_SAVED_AT_SP:
	case FRAME_SAVED_ELSEWHERE:
		break;
	}
	*op = UNWIND_REGISTER_UNDEFINED;
	return false;
}

/* Returns false if rules cannot express where the return address is. */
static bool set_ra_rule(const struct frame_state *state, struct unwind_rule *rule)
{
	struct frame_register saved = relate_to_cfa(state, state->ra);

	if (saved.where == FRAME_SAVED_IN_REGISTER)
		return frame_form_find_ra_op((uint64_t)saved.offset, &rule->ra_op);
	return saved.where == FRAME_SAVED_AT_CFA && saved.offset == WIRE_RETURN_ADDRESS_OFFSET;
}

/* Returns false if a rule's number has no room for it. */
static bool set_cfa_offset(const struct frame_state *state, struct unwind_rule *rule)
{
	int64_t limit = state->cfa_op == UNWIND_CFA_COPY ? UNWIND_COPY_BYTES_MAX : INT32_MAX;
	int64_t bytes = state->cfa_offset;

	if (bytes < -limit || bytes > limit)
		return false;
	rule->cfa_offset = state->cfa_op == UNWIND_CFA_COPY
				   ? UNWIND_COPY((int)state->cfa_register, (int)bytes)
				   : (int)bytes;
	return true;
}

bool frame_rule_make(const struct frame_state *state, bool is_signal_frame, struct unwind_rule *ret)
{
	struct unwind_rule rule = {.cfa_op = state->cfa_op};
	bool is_fp_known;
	bool is_bx_known;

	*ret = (struct unwind_rule){.cfa_op = frame_form_match_context(state, is_signal_frame)};
	if (ret->cfa_op == UNWIND_CFA_UNSUPPORTED && state->ra.where == FRAME_SAVED_UNDEFINED)
		ret->cfa_op = UNWIND_CFA_STOP;
	/* Other signal frames do not have the ucontext where the kernel puts it. */
	if (ret->cfa_op != UNWIND_CFA_UNSUPPORTED || is_signal_frame ||
	    state->sp.where != FRAME_SAVED_SAME || state->cfa_op == UNWIND_CFA_UNSUPPORTED ||
	    !set_cfa_offset(state, &rule) || !set_ra_rule(state, &rule))
		return true;
	is_fp_known = set_register_rule(state, state->fp, &rule.fp_op, &rule.fp_offset);
	is_bx_known = set_register_rule(state, state->bx, &rule.bx_op, &rule.bx_offset);
	*ret = rule;
	return is_fp_known && is_bx_known;
}
