#include "formats/arena.h"

#include <stdlib.h>

void *arena_add(struct arena *arena, void *memory)
{
	void **place = memory ? array_add(&arena->blocks) : NULL;

	if (!place) {
		free(memory);
		return NULL;
	}
	*place = memory;
	return memory;
}

void arena_clear(struct arena *arena)
{
	array_for_each (&arena->blocks, memory)
		free(*memory);
	arena->blocks.length = 0;
}

void arena_release(struct arena *arena)
{
	arena_clear(arena);
	array_release(&arena->blocks);
}
