/*
 * Items of one size that are too many for memory, kept in a temporary file without a name as they
 * come, and read again one after another, as often as wanted. Memory goes to a block of items that
 * is about to be written, and while reading to a page for each run of items in order.
 *
 * Not thread-safe.
 */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct spool;

/* What is in a spool, and what is not. */
struct spool_counts {
	uint64_t kept;
	uint64_t lost;  /* there was no room for them in the file */
	int lost_errno; /* why the first were lost; 0: none were */
};

/*
 * folder   for the temporary file
 * compare  as qsort() takes it: items are read in this order, those that are equal as they were
 *          added. NULL: all of them are
 *
 * Returns 0, -ENOMEM, or negative errno with the folder and the cure in error.
 */
_must_check_ int spool_new(const char *folder, size_t item_bytes,
			   int (*compare)(const void *, const void *), struct spool **ret,
			   struct error *error);
void spool_free(struct spool *spool);

/* Add a copy of an item, before any is read. Where that fails it is counted as lost. */
void spool_add(struct spool *spool, const void *item);

/* The next item is to be the first. Returns 0 or negative errno. */
_must_check_ int spool_rewind(struct spool *spool);
/* Returns 1 and a copy of the item, 0 after the last, or negative errno. */
_must_check_ int spool_next(struct spool *spool, void *ret);

/* Right once spool_rewind() was called. */
struct spool_counts spool_get_counts(const struct spool *spool);

#endif
