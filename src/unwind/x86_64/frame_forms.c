#include "unwind/x86_64/frame_forms.h"

#include <dwarf.h>

#include "wire/unwind.h"

/* From glibc's __restore_rt: the interrupted rsp is in the ucontext, that the kernel put at rsp. */
#define SIGNAL_FRAME_SP_OFFSET 160

uint8_t frame_form_get_cfa_op(uint64_t dwarf_register)
{
	switch (dwarf_register) {
	case REGISTER_SP:
		return UNWIND_CFA_SP;
	case REGISTER_FP:
		return UNWIND_CFA_FP;
	case REGISTER_BX:
		return UNWIND_CFA_BX;
	case REGISTER_CX:
		return UNWIND_CFA_CX;
	case REGISTER_R10:
		return UNWIND_CFA_R10;
	case REGISTER_AX:
		return UNWIND_CFA_AX;
	case REGISTER_SI:
		return UNWIND_CFA_SI;
	case REGISTER_DI:
		return UNWIND_CFA_DI;
	case REGISTER_R9:
		return UNWIND_CFA_R9;
	case REGISTER_R11:
		return UNWIND_CFA_R11;
	case REGISTER_R12:
	case REGISTER_R13:
	case REGISTER_R14:
	case REGISTER_R15:
		return UNWIND_CFA_COPY;
	default:
		return UNWIND_CFA_UNSUPPORTED;
	}
}

bool frame_form_find_ra_op(uint64_t dwarf_register, uint8_t *ret_op)
{
	if (dwarf_register != REGISTER_DI && dwarf_register != REGISTER_CX)
		return false;
	*ret_op = dwarf_register == REGISTER_DI ? UNWIND_RA_IN_DI : UNWIND_RA_IN_CX;
	return true;
}

static bool is_saved(struct frame_register saved, enum frame_saved where, int64_t offset)
{
	return saved.where == where && saved.offset == offset;
}

static bool is_cfa_register(const struct frame_state *state, uint64_t number)
{
	return state->is_cfa_register && state->cfa_register == number && !state->cfa_offset;
}

/* The state that glibc describes for longjmp once it has decoded the saved addresses. */
static bool is_longjmp(const struct frame_state *state)
{
	return is_cfa_register(state, REGISTER_DI) &&
	       is_saved(state->ra, FRAME_SAVED_IN_REGISTER, REGISTER_DX) &&
	       is_saved(state->sp, FRAME_SAVED_IN_REGISTER, REGISTER_R8) &&
	       is_saved(state->fp, FRAME_SAVED_IN_REGISTER, REGISTER_R9) &&
	       is_saved(state->bx, FRAME_SAVED_AT_CFA, 0);
}

/* The state that glibc describes for setcontext while it loads the registers. */
static bool is_setcontext(const struct frame_state *state)
{
	return is_cfa_register(state, REGISTER_DX) &&
	       is_saved(state->ra, FRAME_SAVED_AT_CFA, 168) &&
	       is_saved(state->sp, FRAME_SAVED_AT_CFA, 160) &&
	       is_saved(state->fp, FRAME_SAVED_AT_CFA, 120) &&
	       is_saved(state->bx, FRAME_SAVED_AT_CFA, 128);
}

uint8_t frame_form_match_context(const struct frame_state *state, bool is_signal_frame)
{
	if (is_signal_frame && state->cfa_op == UNWIND_CFA_DEREF_SP &&
	    state->cfa_offset == SIGNAL_FRAME_SP_OFFSET)
		return UNWIND_CFA_SIGNAL;
	if (is_longjmp(state))
		return UNWIND_CFA_JUMP;
	return is_setcontext(state) ? UNWIND_CFA_CONTEXT : UNWIND_CFA_UNSUPPORTED;
}

bool frame_form_match_plt(struct bytes expression, int64_t *ret_boundary)
{
	/*
	 * CFA = rsp + 8 + ((rip & 15) >= boundary ? 8 : 0), as GNU ld writes it; breg16, the return
	 * address column, is rip here.
	 */
	static const uint8_t pattern[] = {DW_OP_breg7, 8,         DW_OP_breg16, 0,
					  DW_OP_lit15, DW_OP_and, DW_OP_lit0,   DW_OP_ge,
					  DW_OP_lit3,  DW_OP_shl, DW_OP_plus};
	const size_t boundary = 6;

	if (expression.size != sizeof(pattern))
		return false;
	for (size_t i = 0; i < sizeof(pattern); i++)
		if (i != boundary && expression.data[i] != pattern[i])
			return false;
	if (expression.data[boundary] < DW_OP_lit0 || expression.data[boundary] > DW_OP_lit15)
		return false;
	*ret_boundary = expression.data[boundary] - DW_OP_lit0;
	return true;
}
