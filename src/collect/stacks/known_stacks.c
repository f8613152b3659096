/*
 * The first pc of a stack is stored as a distance from 0. Distances are signed, with the sign in
 * the lowest bit, so that small ones of either sign are short numbers: seven bits a byte, the
 * lowest first.
 */
#include "collect/stacks/known_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"

/* Maximum size of a 64-bit number. */
#define MAX_NUMBER_BYTES 10

void known_stacks_release(struct known_stacks *stacks)
{
	known_stack_table_release(&stacks->table);
	array_release(&stacks->distances);
}

const struct known_stack *known_stacks_find(const struct known_stacks *stacks, uint64_t hash)
{
	uint32_t item = known_stack_table_find(&stacks->table, &(struct known_stack){.hash = hash});

	return item == HASH_INDEX_NONE ? NULL : &stacks->table.items[item];
}

static size_t write_number(uint8_t *bytes, uint64_t number)
{
	size_t length = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[length++] = (uint8_t)(number | 0x80);
	bytes[length++] = (uint8_t)number;
	return length;
}

int known_stacks_add(struct known_stacks *stacks, uint64_t hash, const uint64_t *pcs,
		     uint32_t num_pcs)
{
	struct known_stack stack = {
		.hash = hash, .first_byte = stacks->distances.length, .num_pcs = num_pcs};
	size_t length_before = stacks->distances.length;
	uint64_t last = 0;
	uint32_t item;
	int err;

	if (array_reserve(&stacks->distances,
			  stacks->distances.length + (size_t)num_pcs * MAX_NUMBER_BYTES))
		return -ENOMEM;
	for (uint32_t i = 0; i < num_pcs; i++) {
		uint64_t distance = pcs[i] - last;
		uint64_t sign = distance >> 63 ? UINT64_MAX : 0;

		stacks->distances.length += write_number(
			stacks->distances.items + stacks->distances.length, (distance << 1) ^ sign);
		last = pcs[i];
	}
	err = known_stack_table_add(&stacks->table, &stack, &item);
	if (err)
		stacks->distances.length = length_before;
	return err;
}

void known_stacks_get_pcs(const struct known_stacks *stacks, const struct known_stack *stack,
			  uint64_t *ret)
{
	struct bytes bytes;
	uint64_t last = 0;

	/* Without a pc in any stack so far, the array has no bytes to point to. */
	if (!stack->num_pcs)
		return;
	bytes = bytes_of(&stacks->distances.items[stack->first_byte],
			 stacks->distances.length - stack->first_byte);
	for (uint32_t i = 0; i < stack->num_pcs; i++) {
		uint64_t number = leb128_read_unsigned(&bytes);

		last += (number >> 1) ^ (number & 1 ? UINT64_MAX : 0);
		ret[i] = last;
	}
}
