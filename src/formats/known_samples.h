/*
 * The number of samples of a file's weights, if the file has it: a converted profile has one weight
 * for many samples, and counting the weights gives too few (struct metric).
 */
#ifndef FORMATS_KNOWN_SAMPLES_H
#define FORMATS_KNOWN_SAMPLES_H

#include "base/array.h"
#include "base/attributes.h"
#include "profile/profile.h"

struct known_metric {
	uint32_t metric; /* of the profile */
	uint64_t before; /* samples read before this file */
	uint64_t count;  /* of this file; 0: not in the file */
};

/*
 * The number of samples of a metric, for a file to contain; 0: none, as the weights are the number
 * of samples themselves.
 */
uint64_t known_samples_get(const struct profile *profile, uint32_t metric);

/* Zeroed at first. */
struct known_samples {
	ARRAY(struct known_metric) metrics;
};

void known_samples_release(struct known_samples *known);

/*
 * To be called before any weight is added to the metric. Of several counts, the largest is used.
 * Returns 0 or -ENOMEM.
 */
_must_check_ int known_samples_add(struct known_samples *known, const struct profile *profile,
				   uint32_t metric, uint64_t count);

/* When all weights have been added. Metrics keep their own count if it is larger. */
void known_samples_apply(const struct known_samples *known, struct profile *profile);

#endif
