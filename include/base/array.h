/*
 * Growable arrays of any plain type, overflow-checked.
 *
 *	ARRAY(struct mapping) mappings = {0};
 *	struct mapping *new = array_add(&mappings);       NULL when out of memory
 *	array_for_each(&mappings, m) …
 *	array_release(&mappings);
 *
 * Pointers into the array are valid until the next array_add() or array_insert().
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <string.h>

#include "base/attributes.h"

#define ARRAY(type)                                    \
	struct {                                       \
		type *items;                           \
		size_t length;   /* items in use */    \
		size_t capacity; /* items allocated */ \
	}

/*
 * Make room for `wanted` items of item_size bytes. Returns 0, or -ENOMEM (also when the size
 * in bytes would overflow); on failure nothing changes.
 */
_must_check_ int array_reserve_bytes(void *items_pointer, size_t *capacity, size_t wanted,
				     size_t item_size);

/* For array_insert() and array_add(): takes the members, because ARRAY() types are anonymous. */
void *array_insert_bytes(void *items_pointer, size_t *length, size_t *capacity, size_t index,
			 size_t item_size);

/* Make room for `wanted` items in all. Returns 0 or -ENOMEM; the length stays. */
#define array_reserve(array, wanted) \
	array_reserve_bytes(&(array)->items, &(array)->capacity, (wanted), sizeof(*(array)->items))

/* Open a zeroed gap before items[index]; returns a pointer to it, NULL when out of memory. */
#define array_insert(array, index)                                                         \
	((__typeof__((array)->items))array_insert_bytes(&(array)->items, &(array)->length, \
							&(array)->capacity, (index),       \
							sizeof(*(array)->items)))

/*
 * Add one zeroed item at the end; returns a pointer to it, NULL when out of memory. Inline where
 * there is room, as importers add millions of items.
 */
#define array_add(array)                                                                     \
	((array)->length < (array)->capacity                                                 \
		 ? (__typeof__((array)->items))memset(&(array)->items[(array)->length++], 0, \
						      sizeof(*(array)->items))               \
		 : array_insert((array), (array)->length))

/* Remove items[index]; the order of the others stays. */
#define array_remove(array, index)                                           \
	do {                                                                 \
		size_t gap_ = (index);                                       \
		(array)->length--;                                           \
		memmove((array)->items + gap_, (array)->items + gap_ + 1,    \
			((array)->length - gap_) * sizeof(*(array)->items)); \
	} while (0)

#define array_for_each(array, item)                              \
	for (__typeof__(*(array)->items) *item = (array)->items; \
	     item && item < (array)->items + (array)->length; item++)

/*
 * Binary search: the number of items at the front that fulfil a condition, if none behind them
 * does. It is also the index of the first that does not.
 *
 *	size_t count = array_count_front(&mappings, mapping, mapping->start <= pc);
 */
#define array_count_front(array, item, condition) \
	count_front((array)->items, (array)->length, item, condition)

/* The same for a pointer to the first and a number of items. */
#define count_front(first, length, item, condition)                       \
	({                                                                \
		size_t low_ = 0;                                          \
		size_t high_ = (length);                                  \
                                                                          \
		while (low_ < high_) {                                    \
			size_t middle_ = low_ + (high_ - low_) / 2;       \
			__typeof__(&(first)[0]) item = (first) + middle_; \
                                                                          \
			if (condition)                                    \
				low_ = middle_ + 1;                       \
			else                                              \
				high_ = middle_;                          \
		}                                                         \
		low_;                                                     \
	})

/* Free the items, but nothing that they point to. The array is empty then and may be used again. */
#define array_release(array)                             \
	do {                                             \
		free((array)->items);                    \
		(array)->items = NULL;                   \
		(array)->length = (array)->capacity = 0; \
	} while (0)

#endif
