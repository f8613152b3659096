/*
 * Names that come near to one that there is not, for an error message to ask whether they were meant.
 *
 * Not thread-safe.
 */
#ifndef BASE_NEAR_NAMES_H
#define BASE_NEAR_NAMES_H

#include <stddef.h>

/* Names that are shown. */
#define NEAR_NAMES_MAX 3
/* Longer ones are near to none. */
#define NEAR_NAMES_MAX_BYTES 64

struct near_names {
	const char *word; /* set by the caller; borrowed */
	struct {
		char name[NEAR_NAMES_MAX_BYTES];
		size_t distance;
	} found[NEAR_NAMES_MAX]; /* the nearest first */
	size_t num_found;
};

/* Look at a name; it is kept if it is one of the nearest so far. */
void near_names_compare(struct near_names *near, const char *name);

/* Enough for all of them. */
#define NEAR_NAMES_TEXT_BYTES (NEAR_NAMES_MAX * (NEAR_NAMES_MAX_BYTES + 8) + 24)

/* "; did you mean 'a', 'b' or 'c'?", or nothing where none comes near. */
void near_names_format(const struct near_names *near, char ret[NEAR_NAMES_TEXT_BYTES]);

#endif
