/*
 * Items of one size that exceed memory, kept in an anonymous temporary file, and read back in order
 * as often as needed. Uses memory for one block of unwritten items and, while reading, for a page
 * per sorted run: 4 MB at most, or one item per run.
 *
 * Not thread-safe.
 */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct fd_list;
struct spool;

struct spool_counts {
	uint64_t kept;
	uint64_t lost;  /* not written, as on a full disk */
	int lost_errno; /* of the first lost item; 0: nothing lost */
};

/*
 * folder   for the temporary file
 * compare  as for qsort(): items are read in this order, equal ones in the order of being added.
 *          NULL: keep the order of being added
 *
 * Returns 0, -ENOMEM, or negative errno with the folder and the remedy in error.
 */
_must_check_ int spool_new(const char *folder, size_t item_bytes,
			   int (*compare)(const void *, const void *), struct spool **ret,
			   struct error *error);
void spool_free(struct spool *spool);

/* The descriptor that reading and writing need (base/confinement.h). */
void spool_add_fds(const struct spool *spool, struct fd_list *fds);

/* Add a copy of an item; only before the first read. A failed write counts the item as lost. */
void spool_add(struct spool *spool, const void *item);

/* Start over with the first item. Returns 0 or negative errno. */
_must_check_ int spool_rewind(struct spool *spool);
/* Returns 1 and a copy of the item, 0 after the last, or negative errno. */
_must_check_ int spool_next(struct spool *spool, void *ret);

/* Correct from the first spool_rewind() on: until then, items may be waiting to be written. */
struct spool_counts spool_get_counts(const struct spool *spool);

#endif
