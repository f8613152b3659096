/*
 * The parts of a recording. They are compared with each other to see how much shares vary by
 * themselves: its runs, if it has several, else slices of its time. Pure: no I/O.
 */
#ifndef ANALYSIS_DIFF_PARTS_H
#define ANALYSIS_DIFF_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/diff.h"
#include "base/attributes.h"
#include "profile/profile.h"

struct diff_span;

struct diff_parts {
	const struct profile *profile;
	const struct diff_side_opts *opts;
	struct diff_span *spans; /* by source: its time; NULL: the parts are runs */
	size_t num_parts;        /* 0: nothing to compare */
};

/*
 * opts  of the side, borrowed. If it has several runs, these are the parts, even if they are slices
 *       of time
 *
 * Slices are of equal length, from the first sample of each source to its last. There are no slices
 * if most samples have no time, or too few of the slices have samples.
 *
 * Returns 0 or -ENOMEM. Release it in any case.
 */
_must_check_ int diff_parts_init(struct diff_parts *parts, const struct profile *profile,
				 const struct diff_side_opts *opts);
void diff_parts_release(struct diff_parts *parts);

/* The part of each sample's weight that is in one of the parts, by sample of the profile. */
void diff_parts_get_values(const struct diff_parts *parts, size_t part, uint64_t *values);

#endif
