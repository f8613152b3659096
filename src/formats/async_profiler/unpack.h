/*
 * Numbers as the heat maps of async-profiler hold them: each byte of a text is a digit from 0 to
 * 122. After a digit from 61 on, another one of the same number follows.
 */
#ifndef FORMATS_ASYNC_PROFILER_UNPACK_H
#define FORMATS_ASYNC_PROFILER_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"

struct async_profiler_packed {
	const uint8_t *next; /* borrowed */
	const uint8_t *end;
};

/* All are false at the end of the text, and if a number is not of that kind. */
bool async_profiler_packed_take_digit(struct async_profiler_packed *packed, uint32_t *ret);
/* Any number of digits of base 61, the lowest first; at most 32 bits. */
bool async_profiler_packed_take_number(struct async_profiler_packed *packed, uint32_t *ret);
/* So many digits of six bits, the lowest first; at most 5. */
bool async_profiler_packed_take_bits(struct async_profiler_packed *packed, unsigned int digits,
				     uint32_t *ret);

#define ASYNC_PROFILER_MAX_CODE_BITS 56

/*
 * Numbers in a canonical Huffman code, 27 bits in four digits of base 123. A copy of the struct is a
 * second position to read from; values belong to the original.
 */
struct async_profiler_code {
	ARRAY(uint32_t) values;                                /* those with short codes first */
	uint32_t num_values[ASYNC_PROFILER_MAX_CODE_BITS + 1]; /* by bits of the code */
	struct async_profiler_packed words;
	uint32_t bits; /* of the last word that are not read yet */
	unsigned int num_bits;
};

/* Take the table of the code; its numbers are next. Returns 0, -EINVAL or -ENOMEM. */
_must_check_ int async_profiler_code_init(struct async_profiler_code *code,
					  struct async_profiler_packed *packed);
bool async_profiler_code_take(struct async_profiler_code *code, uint32_t *ret);
/* All numbers are the same one, and take no space. */
bool async_profiler_code_is_constant(const struct async_profiler_code *code);
void async_profiler_code_release(struct async_profiler_code *code);

#endif
