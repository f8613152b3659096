/*
 * The numbers of frames in a Perfetto trace. Stacks are lists of them, and most of a trace: the
 * most frequent frames get the small numbers, which take one byte less.
 */
#ifndef FORMATS_PERFETTO_WRITE_NUMBERS_H
#define FORMATS_PERFETTO_WRITE_NUMBERS_H

#include <stdint.h>

#include "base/attributes.h"

struct location;
struct profile;
struct timeline;

/*
 * Numbers from 1 on, by id of the profile's frames, for those that samples and waits of the timeline
 * have; 0 for the others. The caller frees *ret. Returns 0 or negative errno.
 */
_must_check_ int perfetto_number_frames(const struct profile *profile,
					const struct timeline *timeline, uint32_t **ret);

/* As qsort() takes it: locations in the order of programs' code. */
int perfetto_compare_locations(const struct profile *profile, const struct location *a,
			       const struct location *b);

#endif
