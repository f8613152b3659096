/*
 * A binary min-heap of indices, for k-way merging: an index represents a sorted list, and is before
 * another one if the next item of its list is.
 *
 *	heap_heapify(heap, length, is_before, owner);
 *	use heap[0], move its list on; at its end: heap[0] = heap[--length];
 *	heap_sift_down(heap, length, is_before, owner);
 *
 * For a queue: heap[length++] = index; heap_sift_up(heap, length, is_before, owner).
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A strict weak order: false for two that are equal. */
typedef bool heap_is_before(const void *owner, uint32_t a, uint32_t b);

/* Make a heap of indices in any order. */
void heap_heapify(uint32_t *heap, size_t length, heap_is_before *is_before, const void *owner);

/* Restore the heap after heap[0] was replaced, or its list has moved on to a later item. */
void heap_sift_down(uint32_t *heap, size_t length, heap_is_before *is_before, const void *owner);

/* Restore the heap after an index was added at its end. */
void heap_sift_up(uint32_t *heap, size_t length, heap_is_before *is_before, const void *owner);

#endif
