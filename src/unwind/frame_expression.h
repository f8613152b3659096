/*
 * DWARF expressions in call-frame instructions. They are not executed, but recognized as one of the
 * few forms that compilers use and our rules can express.
 *
 * Source: DWARF 5, section 2.5; output of GCC, clang, GNU ld and OpenSSL's assembly.
 */
#ifndef UNWIND_FRAME_EXPRESSION_H
#define UNWIND_FRAME_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * Whether the expression starts with rbp + offset or rsp + offset; if so, skip that.
 *
 * ret_op  DW_OP_breg6 or DW_OP_breg7
 */
bool frame_expression_read_base(struct bytes *expression, uint8_t *ret_op, int64_t *ret_offset);

/*
 * The expression that linkers write for a procedure linkage table: each slot of 16 bytes jumps
 * through the GOT, and from a certain byte on it has pushed its index. Linkers differ only in that
 * byte.
 */
bool frame_expression_match_plt(struct bytes expression, int64_t *ret_boundary);

/*
 * *(rbp + offset) or *(rsp + offset), or the latter plus a number. Returns an enum unwind_cfa_op,
 * UNWIND_CFA_UNSUPPORTED for all else.
 */
uint8_t frame_expression_match_deref(struct bytes expression, int64_t *ret_offset);

#endif
