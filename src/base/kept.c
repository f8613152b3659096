#include "base/kept.h"

#include <stdlib.h>

void *kept_add(struct kept *kept, void *memory)
{
	void **place = memory ? array_add(&kept->pieces) : NULL;

	if (!place) {
		free(memory);
		return NULL;
	}
	*place = memory;
	return memory;
}

void kept_clear(struct kept *kept)
{
	array_for_each (&kept->pieces, memory)
		free(*memory);
	kept->pieces.length = 0;
}

void kept_release(struct kept *kept)
{
	kept_clear(kept);
	array_release(&kept->pieces);
}
