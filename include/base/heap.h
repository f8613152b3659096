/*
 * Numbers in an array of which the first is always one that no other is before. For merging: a
 * number stands for a sorted list, and is before another one when the list's next item is.
 *
 *	heap_make(heap, length, is_before, owner);
 *	use heap[0], move its list on; at its end: heap[0] = heap[--length];
 *	heap_mend(heap, length, is_before, owner);
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A strict order: false for two that are equal. */
typedef bool heap_is_before(const void *owner, uint32_t a, uint32_t b);

/* The numbers may be in any order. */
void heap_make(uint32_t *heap, size_t length, heap_is_before *is_before, const void *owner);

/* After the first number was replaced, or what it stands for has come to be behind others. */
void heap_mend(uint32_t *heap, size_t length, heap_is_before *is_before, const void *owner);

#endif
