#include "cli/files/input_rates.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "profile/provenance.h"

#define METRIC_SAMPLES "samples"
#define SOURCE_NONE    UINT32_MAX
#define NS_PER_S       1e9

/* Whether each source has weight in the metric that counts samples. NULL when out of memory. */
static uint8_t *find_users(const struct profile *profile, uint32_t metric)
{
	uint32_t num_sources = profile_count_sources(profile);
	uint8_t *uses = calloc((size_t)num_sources + 1, 1);

	for (uint32_t i = 0; uses && i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t source = profile_get_thread(profile, sample->thread)->source;

		if (sample->metric == metric && sample->value && source < num_sources)
			uses[source] = true;
	}
	return uses;
}

static uint64_t get_period_ns(const struct profile *profile, uint32_t source)
{
	const struct sampling *sampling =
		provenance_find_sampling(profile_get_provenance(profile), source);

	return sampling ? sampling->period_ns : 0;
}

static const char *get_name(const struct profile *profile, uint32_t source)
{
	return profile_get_string(profile, profile_get_source(profile, source));
}

/* Without memory there is no warning: the code that writes the profile reports that. */
void input_rates_warn(const struct profile *profile)
{
	uint32_t metric = profile_find_metric(profile, METRIC_SAMPLES);
	_cleanup_free_ uint8_t *uses = NULL;
	uint32_t first = SOURCE_NONE;

	if (metric == METRIC_NONE || profile_count_sources(profile) < 2)
		return;
	uses = find_users(profile, metric);
	for (uint32_t i = 0; uses && i < profile_count_sources(profile); i++) {
		uint64_t period_ns = uses[i] ? get_period_ns(profile, i) : 0;

		if (!period_ns)
			continue;
		if (first == SOURCE_NONE) {
			first = i;
		} else if (period_ns != get_period_ns(profile, first)) {
			log_warning("%s has %.6g samples per second of CPU time, %s has %.6g: "
				    "the samples are added, though each represents another time",
				    get_name(profile, first),
				    NS_PER_S / (double)get_period_ns(profile, first),
				    get_name(profile, i), NS_PER_S / (double)period_ns);
			return;
		}
	}
}
