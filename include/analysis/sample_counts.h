/*
 * The number of samples behind a weight, which the confidence of a comparison depends on.
 *
 * A weight may count samples, or be called a count by a format that has no other word. Or it is in
 * nanoseconds or bytes, and another metric of the same input counts samples.
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
	uint64_t num_samples; /* 0: equal to the weight */
	bool is_of_profile;   /* the number is that of struct metric, for the samples of all
				 inputs */
	uint64_t period;      /* above 1: all weights are multiples of it, which num_samples
				 counts */
	/* The weights are called counts but are not: the number of samples cannot be known. */
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
