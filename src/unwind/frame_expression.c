#include "unwind/frame_expression.h"

#include <dwarf.h>

#include "base/bytes.h"
#include "wire/unwind.h"

bool frame_expression_read_base(struct bytes *expression, uint8_t *ret_op, int64_t *ret_offset)
{
	*ret_op = bytes_u8(expression);
	if (*ret_op != FRAME_EXPRESSION_FP && *ret_op != FRAME_EXPRESSION_SP)
		return false;
	*ret_offset = leb128_read_signed(expression);
	return !expression->failed;
}

uint8_t frame_expression_match_deref(struct bytes expression, int64_t *ret_offset)
{
	uint64_t added;
	uint8_t base;

	if (!frame_expression_read_base(&expression, &base, ret_offset) ||
	    bytes_u8(&expression) != DW_OP_deref || expression.failed)
		return UNWIND_CFA_UNSUPPORTED;
	if (!bytes_left(&expression))
		return base == FRAME_EXPRESSION_FP ? UNWIND_CFA_DEREF_FP : UNWIND_CFA_DEREF_SP;
	if (base != FRAME_EXPRESSION_SP || bytes_u8(&expression) != DW_OP_plus_uconst)
		return UNWIND_CFA_UNSUPPORTED;
	added = leb128_read_unsigned(&expression);
	if (bytes_left(&expression) || expression.failed || added > UNWIND_STORED_COPY_BYTES_MAX ||
	    *ret_offset < UNWIND_STORED_COPY_PLACE_MIN ||
	    *ret_offset > UNWIND_STORED_COPY_PLACE_MAX)
		return UNWIND_CFA_UNSUPPORTED;
	*ret_offset = UNWIND_STORED_COPY(*ret_offset, (int64_t)added);
	return UNWIND_CFA_DEREF_SP_ADD;
}
