#include "base/array.h"

#include <errno.h>
#include <stdint.h>

int array_reserve_bytes(void *items_pointer, size_t *capacity, size_t wanted, size_t item_size)
{
	size_t grown = *capacity < 8 ? 8 : *capacity;
	size_t size_bytes;
	void *items;
	void *moved;

	if (wanted <= *capacity)
		return 0;
	while (grown < wanted) {
		if (grown > SIZE_MAX / 2)
			return -ENOMEM;
		grown += grown / 2;
	}
	if (__builtin_mul_overflow(grown, item_size, &size_bytes))
		return -ENOMEM;
	memcpy(&items, items_pointer, sizeof(items));
	moved = realloc(items, size_bytes);
	if (!moved)
		return -ENOMEM;
	memcpy(items_pointer, &moved, sizeof(moved));
	*capacity = grown;
	return 0;
}

void *array_insert_bytes(void *items_pointer, size_t *length, size_t *capacity, size_t index,
			 size_t item_size)
{
	char *items;

	if (array_reserve_bytes(items_pointer, capacity, *length + 1, item_size))
		return NULL;
	memcpy(&items, items_pointer, sizeof(items));
	memmove(items + (index + 1) * item_size, items + index * item_size,
		(*length - index) * item_size);
	memset(items + index * item_size, 0, item_size);
	(*length)++;
	return items + index * item_size;
}
