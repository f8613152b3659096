/*
 * How many samples stand behind a weight, which the confidence of a comparison rests on.
 *
 * A weight may count samples, or be called a count by a format that knows no other word; or it is in
 * nanoseconds or bytes, and another metric of the same input counts.
 *
 * Pure: no I/O.
 */
#ifndef ANALYSIS_SAMPLE_COUNTS_H
#define ANALYSIS_SAMPLE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "base/attributes.h"
#include "profile/profile.h"

struct sample_counts {
	uint64_t num_samples; /* 0: as many as the weight says */
	bool is_of_profile;   /* that is what struct metric says, of the samples of all inputs */
	uint64_t period; /* above 1: all weights are multiples of it, and num_samples of these */
	/* The weights are called counts and are none: how many samples there were cannot be known. */
	bool is_doubtful;
};

/*
 * first_metric  the input's metrics are from here on
 * selection     the input's samples; NULL: all of the profile
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int sample_counts_find(const struct profile *profile, uint32_t metric,
				    uint32_t first_metric, const struct selection *selection,
				    struct sample_counts *ret);

#endif
