/*
 * Decoders of the data on optimized code of V8: translations, source positions, inlinings. Pure functions; the bytes may be anything.
 */
#ifndef RUNTIME_V8_OPTIMIZED_CODE_H
#define RUNTIME_V8_OPTIMIZED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "runtime/v8_inlines.h"

struct v8_byte_array {
	const uint8_t *bytes;
	size_t size;
};

/*
 * The functions of a translation, outermost first, as numbers of literals.
 *
 * index  where it starts
 * ret    room for limit numbers
 *
 * Returns 0, or -EBADMSG (invalid, or longer).
 */
_must_check_ int v8_translation_read(enum v8_translations form,
				     const struct v8_byte_array *translations, uint32_t index,
				     uint32_t *ret, uint32_t limit, uint32_t *ret_num);

/*
 * The deoptimization at a return address in code of Maglev.
 *
 * head  bytes before the entries
 *
 * Returns 0 or -ENOENT.
 */
_must_check_ int v8_maglev_safepoint_find(const struct v8_byte_array *table, uint32_t head,
					  uint32_t pc, uint32_t *ret);

/* In place of an inlining: the compiled function itself. */
#define V8_NOT_INLINED (-1)
/* In place of a literal: the compiled function, inlined into itself. */
#define V8_OWN_FUNCTION UINT32_MAX

/*
 * The inlining of the last position up to an offset, and the offset of that position. It holds for instructions that control reaches from
 * there: v8_code_find_source().
 *
 * Returns 0, -ENOENT or -EBADMSG.
 */
_must_check_ int v8_positions_find(const struct v8_byte_array *positions, uint32_t offset,
				   uint32_t *ret_start, int32_t *ret_inlining);

/*
 * Whether the positions are those of all instructions. Other code has positions of calls only. A call never starts with a comparison.
 */
bool v8_positions_are_detailed(const struct v8_byte_array *positions,
			       const struct v8_byte_array *instructions);

/*
 * The only predecessor of `end`: `end` itself, if the instructions between start and end contain no
 * unconditional jump; else the only jump to the block that ends there.
 *
 * code  all instructions that may jump there, without tables
 * end   end of an instruction
 *
 * Returns 0 or -ENOENT.
 */
_must_check_ int v8_code_find_source(const struct v8_byte_array *code, uint32_t start, uint32_t end,
				     uint32_t *ret);

/*
 * An inlining: the literal with its function, or V8_OWN_FUNCTION, and the inlining it is in; V8_NOT_INLINED: none. Returns 0 or -EBADMSG.
 */
_must_check_ int v8_inlining_get(const struct v8_byte_array *inlinings, int32_t inlining,
				 uint32_t *ret_literal, int32_t *ret_outer);

#endif
