#include "analysis/sample_counts.h"

#include <errno.h>
#include <math.h>

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/text.h"

/* The probability that n counts have a common divisor d by chance is d^-n: this is n * log2(d). */
#define PERIOD_MIN_BITS   20
#define PERIOD_MIN_STACKS 10
/*
 * Sampled stacks have a long tail: most of a program's many stacks were seen a few times. If nine
 * of ten weigh this much, the weights are not sample counts.
 */
#define TAILLESS_MIN_STACKS 10
#define TAILLESS_WEIGHT     1000
#define SIZE_ALIGNMENT      8
#define MAX_ALIGNED_SIZE    1000

struct input {
	const struct profile *profile;
	uint32_t metric;
	uint32_t first_metric;
	const struct selection *selection;
};

static bool counts_samples(const struct profile *profile, uint32_t metric)
{
	const char *name = profile_get_string(profile, profile_get_metric(profile, metric)->name);

	return string_equals(name, "samples") || string_equals(name, METRIC_BEFORE) ||
	       string_equals(name, METRIC_AFTER);
}

/* The input's sample with this number; NULL: it belongs to another input. */
static const struct sample *get_sample(const struct input *input, uint32_t id)
{
	return selection_contains(input->selection, id) ? profile_get_sample(input->profile, id)
							: NULL;
}

/* The same, but only for samples of the metric. */
static const struct sample *get_weight(const struct input *input, uint32_t id)
{
	const struct sample *sample = get_sample(input, id);

	return sample && sample->metric == input->metric ? sample : NULL;
}

/*
 * Folded text calls all weights counts. Those of one event are multiples of its period. Chance
 * hardly ever makes so many counts multiples of one number. 1: as far as visible, they are counts.
 */
static uint64_t find_period(const struct input *input)
{
	uint64_t num_stacks = 0;
	uint64_t divisor = 0;

	if (profile_get_metric(input->profile, input->metric)->decimals)
		return 1;
	for (uint32_t i = 0; i < profile_count_samples(input->profile); i++) {
		const struct sample *sample = get_weight(input, i);

		if (!sample || !sample->value)
			continue;
		divisor = find_common_divisor(sample->value, divisor);
		num_stacks++;
	}
	return num_stacks >= PERIOD_MIN_STACKS &&
			       (double)num_stacks * log2((double)divisor) >= PERIOD_MIN_BITS
		       ? divisor
		       : 1;
}

/*
 * Any sizes of memory are multiples of powers of two, or of their alignment. This is no period,
 * which would count as one sample each.
 */
static bool is_of_sizes(uint64_t divisor)
{
	bool is_power_of_two = !(divisor & (divisor - 1));

	return divisor % SIZE_ALIGNMENT == 0 && (is_power_of_two || divisor < MAX_ALIGNED_SIZE);
}

/* Convert weights to numbers of periods. */
static void count_periods(const struct input *input, uint64_t period, struct sample_counts *ret)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(input->profile); i++) {
		const struct sample *sample = get_weight(input, i);

		if (sample && __builtin_add_overflow(sum, sample->value / period, &sum))
			return;
	}
	ret->num_samples = sum;
	ret->period = period;
}

/*
 * Find weights that are called counts but are not: perf's periods, if it keeps the frequency and
 * varies them (the first few are tiny), or nanoseconds. The number of samples behind them cannot be
 * known, nor the effect of chance on them.
 */
static int find_doubt(const struct input *input, bool *ret)
{
	const struct profile *profile = input->profile;
	/* by stack, of all threads and runs */
	_cleanup_free_ uint64_t *weights = calloc(profile_count_stacks(profile), sizeof(*weights));
	uint64_t num_stacks = 0;
	uint64_t num_large = 0;

	if (!weights)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = get_weight(input, i);

		if (sample && __builtin_add_overflow(weights[sample->stack], sample->value,
						     &weights[sample->stack]))
			weights[sample->stack] = UINT64_MAX;
	}
	for (uint32_t i = 0; i < profile_count_stacks(profile); i++) {
		num_stacks += weights[i] > 0;
		num_large += weights[i] >= TAILLESS_WEIGHT;
	}
	*ret = num_stacks >= TAILLESS_MIN_STACKS && num_large * 10 >= num_stacks * 9;
	return 0;
}

/*
 * Take the number from another metric of the input that counts samples. Otherwise use the profile's
 * number, which may be too low (profile.h): then fewer differences count as changes. In a recording
 * of waits only ticks are counted.
 */
static void count_others(const struct input *input, struct sample_counts *ret)
{
	bool has_waits =
		profile_find_wall_metric(input->profile, input->first_metric) != METRIC_NONE;
	uint64_t sum = 0;

	for (uint32_t i = 0; !has_waits && i < profile_count_samples(input->profile); i++) {
		const struct sample *sample = get_sample(input, i);

		if (sample && sample->metric >= input->first_metric &&
		    counts_samples(input->profile, sample->metric) &&
		    __builtin_add_overflow(sum, sample->value, &sum))
			return;
	}
	ret->is_of_profile = !sum;
	ret->num_samples =
		sum ? sum : profile_get_metric(input->profile, input->metric)->num_samples;
}

int sample_counts_find(const struct profile *profile, uint32_t metric, uint32_t first_metric,
		       const struct selection *selection, struct sample_counts *ret)
{
	struct input input = {profile, metric, first_metric, selection};
	uint64_t period;

	*ret = (struct sample_counts){.period = 1};
	if (!counts_samples(profile, metric)) {
		count_others(&input, ret);
		return 0;
	}
	period = find_period(&input);
	if (is_of_sizes(period)) {
		ret->is_doubtful = true;
		return 0;
	}
	if (period > 1) {
		count_periods(&input, period, ret);
		return 0;
	}
	return profile_get_metric(profile, metric)->decimals
		       ? 0
		       : find_doubt(&input, &ret->is_doubtful);
}
