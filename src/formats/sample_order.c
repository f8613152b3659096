/*
 * Formats that write one list for each metric and thread need the samples in that order; the
 * profile has them in order of insertion, which is kept within a list.
 */
#include "formats/sample_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static int compare_samples(const void *left, const void *right, void *context)
{
	const struct profile *profile = context;
	uint32_t x = *(const uint32_t *)left;
	uint32_t y = *(const uint32_t *)right;
	const struct sample *a = profile_get_sample(profile, x);
	const struct sample *b = profile_get_sample(profile, y);

	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (x > y) - (x < y);
}

int sample_order_new(const struct profile *profile, uint32_t **ret)
{
	uint32_t count = profile_count_samples(profile);
	uint32_t *order = calloc(count ? count : 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_samples, (void *)(uintptr_t)profile);
	*ret = order;
	return 0;
}

uint32_t sample_order_find_end(const struct profile *profile, const uint32_t *order, uint32_t first)
{
	uint32_t count = profile_count_samples(profile);
	const struct sample *sample = profile_get_sample(profile, order[first]);
	uint32_t end = first + 1;

	for (; end < count; end++) {
		const struct sample *other = profile_get_sample(profile, order[end]);

		if (other->metric != sample->metric || other->thread != sample->thread)
			break;
	}
	return end;
}
