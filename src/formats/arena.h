/*
 * Allocations that are freed together, such as the parts of a message: they are needed until it is
 * written, and then all of them are freed at once.
 */
#ifndef FORMATS_ARENA_H
#define FORMATS_ARENA_H

#include "base/array.h"

/* All zero is empty. */
struct arena {
	ARRAY(void *) blocks;
};

/*
 * Take ownership of memory from malloc(), or of NULL. Returns it, or NULL when out of memory; the
 * memory is freed then. So arena_add(arena, strdup(s)) needs one check.
 */
void *arena_add(struct arena *arena, void *memory);
/* Free all allocations and keep the list's memory for more. */
void arena_clear(struct arena *arena);
void arena_release(struct arena *arena);

#endif
