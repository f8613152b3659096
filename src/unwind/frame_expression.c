#include "unwind/frame_expression.h"

#include <dwarf.h>

#include "base/bytes.h"
#include "wire/unwind.h"

bool frame_expression_read_base(struct bytes *expression, uint8_t *ret_op, int64_t *ret_offset)
{
	*ret_op = bytes_u8(expression);
	if (*ret_op != DW_OP_breg6 && *ret_op != DW_OP_breg7)
		return false;
	*ret_offset = leb128_read_signed(expression);
	return !expression->failed;
}

bool frame_expression_match_plt(struct bytes expression, int64_t *ret_boundary)
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

uint8_t frame_expression_match_deref(struct bytes expression, int64_t *ret_offset)
{
	uint64_t added;
	uint8_t base;

	if (!frame_expression_read_base(&expression, &base, ret_offset) ||
	    bytes_u8(&expression) != DW_OP_deref || expression.failed)
		return UNWIND_CFA_UNSUPPORTED;
	if (!bytes_left(&expression))
		return base == DW_OP_breg6 ? UNWIND_CFA_DEREF_FP : UNWIND_CFA_DEREF_SP;
	if (base != DW_OP_breg7 || bytes_u8(&expression) != DW_OP_plus_uconst)
		return UNWIND_CFA_UNSUPPORTED;
	added = leb128_read_unsigned(&expression);
	if (bytes_left(&expression) || expression.failed || added > UNWIND_STORED_COPY_BYTES_MAX ||
	    *ret_offset < UNWIND_STORED_COPY_PLACE_MIN ||
	    *ret_offset > UNWIND_STORED_COPY_PLACE_MAX)
		return UNWIND_CFA_UNSUPPORTED;
	*ret_offset = UNWIND_STORED_COPY(*ret_offset, (int64_t)added);
	return UNWIND_CFA_DEREF_SP_ADD;
}
