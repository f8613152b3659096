#include "base/heap.h"

/* The children of i are 2i + 1 and 2i + 2. Move the element at `place` below all that precede it. */
static void move_down(uint32_t *heap, size_t length, size_t place, heap_is_before *is_before,
		      const void *owner)
{
	for (;;) {
		size_t least = place;
		uint32_t held = heap[place];

		for (size_t child = 2 * place + 1; child <= 2 * place + 2 && child < length;
		     child++)
			if (is_before(owner, heap[child], heap[least]))
				least = child;
		if (least == place)
			return;
		heap[place] = heap[least];
		heap[least] = held;
		place = least;
	}
}

void heap_heapify(uint32_t *heap, size_t length, heap_is_before *is_before, const void *owner)
{
	for (size_t place = length / 2; place-- > 0;)
		move_down(heap, length, place, is_before, owner);
}

void heap_sift_down(uint32_t *heap, size_t length, heap_is_before *is_before, const void *owner)
{
	if (length)
		move_down(heap, length, 0, is_before, owner);
}

void heap_sift_up(uint32_t *heap, size_t length, heap_is_before *is_before, const void *owner)
{
	size_t place = length - 1;
	uint32_t added = heap[place];

	for (; place && is_before(owner, added, heap[(place - 1) / 2]); place = (place - 1) / 2)
		heap[place] = heap[(place - 1) / 2];
	heap[place] = added;
}
