/*
 * Of how many samples a file's weights are, where it says so: a converted profile has one weight for
 * many samples, and whoever reads it counts too few (struct metric).
 */
#ifndef FORMATS_KNOWN_SAMPLES_H
#define FORMATS_KNOWN_SAMPLES_H

#include "base/array.h"
#include "base/attributes.h"
#include "profile/profile.h"

struct known_metric {
	uint32_t metric; /* of the profile */
	uint64_t before; /* samples of what was read before */
	uint64_t count;  /* of this file; 0: it does not say */
};

/*
 * What a file is to say of a metric: its number of samples; 0: nothing, as its weights are the number
 * of samples themselves.
 */
uint64_t known_samples_get(const struct profile *profile, uint32_t metric);

/* Zeroed at first. */
struct known_samples {
	ARRAY(struct known_metric) metrics;
};

void known_samples_release(struct known_samples *known);

/*
 * To be called before any weight is added to the metric. Of what is said several times, the largest
 * counts. Returns 0 or -ENOMEM.
 */
_must_check_ int known_samples_add(struct known_samples *known, const struct profile *profile,
				   uint32_t metric, uint64_t count);

/* When all weights have been added. Metrics keep what was counted if that is more. */
void known_samples_apply(const struct known_samples *known, struct profile *profile);

#endif
