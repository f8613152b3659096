#include "objfile/x86_64/calls.h"

#include "objfile/architecture.h"
#include "objfile/x86_64/instruction.h"

#define DIRECT_CALL_BYTES 5 /* E8 and a distance */
#define MODRM_SIB         4 /* in the lower bits of ModRM: a SIB byte follows */
#define SIB_SP            0x24

/*
 * Length of FF /2 from its opcode on, by its ModRM and SIB bytes; 0 if it is another instruction.
 */
static size_t get_indirect_length(const uint8_t *code, size_t size)
{
	uint8_t mode = code[1] >> 6;
	uint8_t base = code[1] & 7;
	size_t length = 2;

	if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
		return 0;
	if (mode != 3 && base == 4) {
		if (size < 3)
			return 0;
		base = code[2] & 7;
		length++;
	}
	if (mode == 1)
		length += 1;
	else if (mode == 2 || (mode == 0 && base == 5))
		length += 4;
	return length;
}

bool call_ends(const uint8_t *bytes, size_t size)
{
	if (size >= 5 && bytes[size - 5] == 0xe8)
		return true;
	for (size_t length = 2; length <= size && length <= 7; length++)
		if (get_indirect_length(bytes + size - length, length) == length)
			return true;
	return false;
}

/* Whether FF /2 ends there, too: E8 may be its SIB byte or a part of its displacement. */
static bool ends_in_indirect_call(const uint8_t *code)
{
	struct instruction instruction;

	for (size_t length = 2; length <= CALL_MAX_BYTES; length++)
		if (instruction_decode(code + CALL_MAX_BYTES - length, length, &instruction) &&
		    instruction.length == length && instruction.kind == INSTRUCTION_CALL &&
		    !instruction.is_direct)
			return true;
	return false;
}

bool call_read_direct(const uint8_t *code, int32_t *ret_distance)
{
	struct instruction instruction;

	if (!instruction_decode(code + CALL_MAX_BYTES - DIRECT_CALL_BYTES, DIRECT_CALL_BYTES,
				&instruction) ||
	    instruction.kind != INSTRUCTION_CALL || !instruction.is_direct ||
	    ends_in_indirect_call(code))
		return false;
	*ret_distance = instruction.distance;
	return true;
}

bool call_replaces_return_address(const uint8_t *code, size_t size)
{
	if (size > 1 && (code[0] & 0xf0) == 0x40) { /* REX */
		code++;
		size--;
	}
	if ((code[0] & 0xf8) == 0x50 || code[0] == 0x68) /* push */
		return true;
	if (size < 2)
		return false;
	if (code[0] == 0xff)
		return (code[1] >> 3 & 7) == 6; /* push from memory */
	/* mov or xchg with the top of the stack */
	return (code[0] == 0x89 || code[0] == 0x87 || code[0] == 0xc7) &&
	       (code[1] & 0xc7) == MODRM_SIB && size > 2 && code[2] == SIB_SP;
}
