/*
 * DWARF expressions in call-frame instructions. They are not executed, but recognized as one of the
 * few forms that compilers use and our rules can express.
 *
 * Source: DWARF 5, section 2.5; output of GCC, clang and OpenSSL's assembly.
 */
#ifndef UNWIND_FRAME_EXPRESSION_H
#define UNWIND_FRAME_EXPRESSION_H

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "unwind/frame_rule.h"

/* Operations for a register and an offset: DW_OP_breg0 and the number of the register. */
enum {
	FRAME_EXPRESSION_FP = DW_OP_breg0 + REGISTER_FP,
	FRAME_EXPRESSION_SP = DW_OP_breg0 + REGISTER_SP,
};

/*
 * Whether the expression starts with fp + offset or sp + offset; if so, skip that.
 *
 * ret_op  FRAME_EXPRESSION_FP or FRAME_EXPRESSION_SP
 */
bool frame_expression_read_base(struct bytes *expression, uint8_t *ret_op, int64_t *ret_offset);

/*
 * *(fp + offset) or *(sp + offset), or the latter plus a number. Returns an enum unwind_cfa_op,
 * UNWIND_CFA_UNSUPPORTED for all else.
 */
uint8_t frame_expression_match_deref(struct bytes expression, int64_t *ret_offset);

#endif
