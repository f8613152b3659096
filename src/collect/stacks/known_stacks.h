/*
 * Stacks as sent by the BPF program, by hash. A pc is mostly near that of its caller or callee, so
 * only the distance is stored, in half the size.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_STACKS_KNOWN_STACKS_H
#define COLLECT_STACKS_KNOWN_STACKS_H

#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/intern.h"

struct known_stack {
	uint64_t hash;
	uint64_t first_byte : 48; /* of its distances */
	uint64_t num_pcs : 16;
};
INTERN_TABLE(known_stack_table, struct known_stack, hash);

/* All zero: empty. */
struct known_stacks {
	struct known_stack_table table;
	ARRAY(uint8_t) distances;
};

void known_stacks_release(struct known_stacks *stacks);

/* NULL: none has the hash. Until the next one is added. */
const struct known_stack *known_stacks_find(const struct known_stacks *stacks, uint64_t hash);

/* Dense, from 0. */
static inline uint32_t known_stacks_get_number(const struct known_stacks *stacks,
					       const struct known_stack *stack)
{
	return (uint32_t)(stack - stacks->table.items);
}

/*
 * Add a stack whose hash is new.
 *
 * num_pcs  UINT16_MAX at most
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int known_stacks_add(struct known_stacks *stacks, uint64_t hash, const uint64_t *pcs,
				  uint32_t num_pcs);

/* Write its pcs, in order of addition, to an array of that length. */
void known_stacks_get_pcs(const struct known_stacks *stacks, const struct known_stack *stack,
			  uint64_t *ret);

#endif
