#include "formats/perfetto_numbers.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "profile/profile.h"
#include "timeline/timeline.h"

/* By location: how many of the stacks that samples have contain it. NULL when out of memory. */
static uint32_t *count_uses(const struct profile *profile, const struct timeline *timeline)
{
	uint32_t num_stacks = profile_count_stacks(profile);
	_cleanup_free_ uint32_t *passing = calloc((size_t)num_stacks + 1, sizeof(*passing));
	uint32_t *uses = calloc((size_t)profile_count_locations(profile) + 1, sizeof(*uses));

	if (!passing || !uses) {
		free(uses);
		return NULL;
	}
	for (uint32_t i = 0; i < timeline_count_sample(timeline); i++)
		passing[timeline_get_sample(timeline, i)->stack] = 1;
	/* A stack comes behind the one that it continues. */
	for (uint32_t stack = num_stacks; stack-- > 1;) {
		if (!passing[stack])
			continue;
		passing[profile_get_stack_parent(profile, stack)] += passing[stack];
		uses[profile_get_stack_location(profile, stack)] += passing[stack];
	}
	return uses;
}

static int compare_uses(const void *a, const void *b, void *context)
{
	const uint32_t *uses = context;
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	if (uses[left] != uses[right])
		return uses[left] > uses[right] ? -1 : 1;
	return (left > right) - (left < right);
}

uint32_t *perfetto_number_frames(const struct profile *profile, const struct timeline *timeline)
{
	uint32_t count = profile_count_locations(profile);
	_cleanup_free_ uint32_t *uses = count_uses(profile, timeline);
	_cleanup_free_ uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
	uint32_t *numbers = calloc((size_t)profile_count_frames(profile) + 1, sizeof(*numbers));
	uint32_t num_used = 0;
	uint32_t number = 0;

	if (!uses || !order || !numbers) {
		free(numbers);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		if (uses[i])
			order[num_used++] = i;
	qsort_r(order, num_used, sizeof(*order), compare_uses, uses);
	for (uint32_t i = 0; i < num_used; i++) {
		const struct location *location = profile_get_location(profile, order[i]);

		for (uint32_t frame = 0; frame < location->num_frames; frame++)
			numbers[location->first_frame + frame] = ++number;
	}
	return numbers;
}
