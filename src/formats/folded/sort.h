/*
 * Lines of folded text in the order of their stacks, which is that of their bytes: in this order,
 * the table of stacks need not be searched for duplicates (read.c).
 *
 * Thread-safe: the caller passes all state.
 */
#ifndef FORMATS_FOLDED_SORT_H
#define FORMATS_FOLDED_SORT_H

#include <stddef.h>
#include <stdint.h>

struct folded_entry {
	const uint8_t *stack; /* borrowed; bytes in whose order entries are put */
	uint64_t key;         /* the sort's own */
	uint32_t length;      /* of the stack, in bytes */
	uint32_t line;        /* its number */
	/* The caller's own: the count of the line, or from 1 the place where its counts are. */
	uint32_t count;
	uint32_t counts;
};

/*
 * Sorts by stack, a prefix first; equal ones by line. In place, in time that is linear but for a
 * logarithm.
 */
void folded_sort(struct folded_entry *entries, size_t count);

#endif
