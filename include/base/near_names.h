/*
 * Names similar to an unknown one, for the "did you mean" of an error message.
 *
 * Not thread-safe.
 */
#ifndef BASE_NEAR_NAMES_H
#define BASE_NEAR_NAMES_H

#include <stddef.h>

/* Number of names that are shown. */
#define NEAR_NAMES_MAX 3
/* Longer names have no near ones. */
#define NEAR_NAMES_MAX_BYTES 64

struct near_names {
	const char *word; /* set by the caller; borrowed */
	struct {
		char name[NEAR_NAMES_MAX_BYTES];
		size_t distance;
	} found[NEAR_NAMES_MAX]; /* the nearest first */
	size_t num_found;
};

/* Compare a name; it is kept if it is one of the nearest so far. */
void near_names_compare(struct near_names *near, const char *name);

/* Enough for all of them. */
#define NEAR_NAMES_TEXT_BYTES (NEAR_NAMES_MAX * (NEAR_NAMES_MAX_BYTES + 8) + 24)

/* Write "; did you mean 'a', 'b' or 'c'?", or nothing if no name is near. */
void near_names_format(const struct near_names *near, char ret[NEAR_NAMES_TEXT_BYTES]);

#endif
