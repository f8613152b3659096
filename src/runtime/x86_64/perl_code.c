#include "runtime/x86_64/perl_code.h"

#include <string.h>

#define LEA_BYTES     7
#define CALL_BYTES    5
#define MAX_FUNCTION  0x4000 /* bytes searched from the start of a function on */
#define MAX_BETWEEN   12     /* bytes between a lea and the call */
#define IS_CALL(byte) ((byte) == 0xe8 || (byte) == 0xe9) /* or a jump in the place of one */

static int32_t get_displacement(const uint8_t *bytes)
{
	int32_t displacement;

	memcpy(&displacement, bytes, sizeof(displacement));
	return displacement;
}

bool perl_code_calls(const uint8_t *code, size_t size, uint16_t offset)
{
	for (size_t i = 0; i + 7 <= size; i++) {
		/* call *OFFSET(%register), where r12 has a byte more */
		size_t more = code[i + 1] == 0x94;

		if (code[i] == 0xff && (code[i + 1] & 0xf8) == 0x90 &&
		    get_displacement(code + i + 2 + more) == offset)
			return true;
	}
	return false;
}

/*
 * The function called by one that passes itself as the second argument; 0: not found. at: offset of
 * the instruction that may be its lea.
 */
static uint64_t find_handover(const struct code_section *code, uint64_t at)
{
	int64_t displacement = get_displacement(code->bytes + at + 3);

	/* The function starts before the lea. */
	if (displacement > -LEA_BYTES || displacement < -MAX_FUNCTION)
		return 0;
	for (uint64_t i = at + LEA_BYTES;
	     i < at + LEA_BYTES + MAX_BETWEEN && i + CALL_BYTES <= code->size; i++)
		if (IS_CALL(code->bytes[i]))
			return code->address + i + CALL_BYTES +
			       (uint64_t)(int64_t)get_displacement(code->bytes + i + 1);
	return 0;
}

bool perl_code_find_handover(const struct code_section *code, uint64_t *at, uint64_t *ret)
{
	static const uint8_t lea_rsi[] = {0x48, 0x8d, 0x35};

	while (code->size - *at >= LEA_BYTES) {
		const uint8_t *found = memmem(code->bytes + *at, code->size - *at - (LEA_BYTES - 3),
					      lea_rsi, sizeof(lea_rsi));

		if (!found)
			return false;
		*ret = find_handover(code, (uint64_t)(found - code->bytes));
		*at = (uint64_t)(found - code->bytes) + sizeof(lea_rsi);
		if (*ret)
			return true;
	}
	return false;
}
