#include "formats/known_samples.h"

#include <errno.h>

uint64_t known_samples_get(const struct profile *profile, uint32_t metric)
{
	const struct metric *found = profile_get_metric(profile, metric);

	return string_equals(profile_get_string(profile, found->name), "samples")
		       ? 0
		       : found->num_samples;
}

void known_samples_release(struct known_samples *known)
{
	array_release(&known->metrics);
}

int known_samples_add(struct known_samples *known, const struct profile *profile, uint32_t metric,
		      uint64_t count)
{
	struct known_metric *added;

	array_for_each (&known->metrics, other) {
		if (other->metric != metric)
			continue;
		if (count > other->count)
			other->count = count;
		return 0;
	}
	added = array_add(&known->metrics);
	if (!added)
		return -ENOMEM;
	*added = (struct known_metric){
		.metric = metric,
		.before = profile_get_metric(profile, metric)->num_samples,
		.count = count,
	};
	return 0;
}

void known_samples_apply(const struct known_samples *known, struct profile *profile)
{
	array_for_each (&known->metrics, metric) {
		uint64_t counted = profile_get_metric(profile, metric->metric)->num_samples;
		uint64_t sum;

		if (__builtin_add_overflow(metric->before, metric->count, &sum))
			sum = UINT64_MAX;
		if (sum > counted)
			profile_set_metric_samples(profile, metric->metric, sum);
	}
}
