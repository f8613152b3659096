/*
 * Stacks are lists of frames' numbers, which are varints: numbers below 128 take one byte, those
 * below 16,384 two. So the most frequent frames get the small numbers. Numbers of one length are
 * assigned by place in the code, so that neighbours have similar numbers.
 *
 * The number of stacks with a location is counted over the tree, not by walking each stack: from
 * the leaves to the root, a stack adds its count to the stack that it continues, which always has a
 * smaller id.
 */
#include "formats/perfetto/write/numbers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "profile/profile.h"
#include "timeline/timeline.h"

/* Mark the stacks that samples and waits have, with 1. */
static int mark_stacks(const struct timeline *timeline, uint32_t *marks)
{
	struct timeline_sample sample;
	struct timeline_wait wait;
	uint64_t position = 0;
	int got;

	while ((got = timeline_next_sample(timeline, &position, &sample)) > 0)
		marks[sample.stack] = 1;
	if (got < 0)
		return got;
	position = 0;
	while ((got = timeline_next_wait(timeline, &position, &wait)) > 0)
		marks[wait.stack] = marks[wait.waker_stack] = 1;
	return got;
}

/* Count the marked stacks that contain each location. */
static int count_uses(const struct profile *profile, const struct timeline *timeline,
		      uint32_t *uses)
{
	uint32_t num_stacks = profile_count_stacks(profile);
	_cleanup_free_ uint32_t *passing = calloc((size_t)num_stacks + 1, sizeof(*passing));
	int err = passing ? mark_stacks(timeline, passing) : -ENOMEM;

	if (err)
		return err;
	/* A stack follows the one that it continues. */
	for (uint32_t stack = num_stacks; stack-- > 1;) {
		if (!passing[stack])
			continue;
		passing[profile_get_stack_parent(profile, stack)] += passing[stack];
		uses[profile_get_stack_location(profile, stack)] += passing[stack];
	}
	return 0;
}

/* Not by their numbers, which differ when the trace is read again. */
static int compare_modules(const struct profile *profile, uint32_t a, uint32_t b)
{
	const struct module *left = profile_get_module(profile, a);
	const struct module *right = profile_get_module(profile, b);
	int order = strcmp(profile_get_string(profile, left->path),
			   profile_get_string(profile, right->path));

	if (order)
		return order;
	if (left->build_id_size != right->build_id_size)
		return left->build_id_size < right->build_id_size ? -1 : 1;
	return memcmp(left->build_id, right->build_id, left->build_id_size);
}

/* Compares locations that have no address, by their names. */
static int compare_named(const struct profile *profile, const struct location *a,
			 const struct location *b)
{
	const struct frame *left;
	const struct frame *right;
	int order;

	if (!a->num_frames || !b->num_frames)
		return (a->num_frames > 0) - (b->num_frames > 0);
	left = profile_get_frame(profile, a->first_frame);
	right = profile_get_frame(profile, b->first_frame);
	order = strcmp(profile_get_string(profile, left->full_name),
		       profile_get_string(profile, right->full_name));
	return order ? order
		     : strcmp(profile_get_string(profile, left->module),
			      profile_get_string(profile, right->module));
}

int perfetto_compare_locations(const struct profile *profile, const struct location *a,
			       const struct location *b)
{
	int order = 0;

	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	if (a->space == LOCATION_NAMED)
		order = compare_named(profile, a, b);
	if (order)
		return order;
	if (a->owner != b->owner && a->space == LOCATION_FILE)
		order = compare_modules(profile, a->owner, b->owner);
	if (order)
		return order;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->first_frame > b->first_frame) - (a->first_frame < b->first_frame);
}

static int compare_locations(const void *a, const void *b, void *profile)
{
	return perfetto_compare_locations(profile,
					  profile_get_location(profile, *(const uint32_t *)a),
					  profile_get_location(profile, *(const uint32_t *)b));
}

struct used_locations {
	const struct profile *profile;
	const uint32_t *uses; /* by location */
};

static int compare_uses(const void *a, const void *b, void *context)
{
	const struct used_locations *used = context;
	uint32_t left = used->uses[*(const uint32_t *)a];
	uint32_t right = used->uses[*(const uint32_t *)b];

	if (left != right)
		return left > right ? -1 : 1;
	return compare_locations(a, b, (struct profile *)(uintptr_t)used->profile);
}

/* How many bytes a number takes. */
static unsigned count_bytes(uint32_t number)
{
	unsigned count = 1;

	for (; number > 0x7f; number >>= 7)
		count++;
	return count;
}

/* The most frequent locations are first; among those whose numbers are equally long, neighbours. */
static void sort_locations(const struct profile *profile, const uint32_t *uses, uint32_t *order,
			   size_t count)
{
	struct used_locations used = {profile, uses};
	uint32_t number = 1;

	qsort_r(order, count, sizeof(*order), compare_uses, &used);
	for (size_t start = 0, end; start < count; start = end) {
		unsigned num_bytes = count_bytes(number);

		/*
		 * A location has as many numbers as it has frames; the last one may reach into the
		 * next length, which does no harm.
		 */
		for (end = start; end < count && count_bytes(number) == num_bytes; end++)
			number += profile_get_location(profile, order[end])->num_frames;
		qsort_r(order + start, end - start, sizeof(*order), compare_locations,
			(struct profile *)(uintptr_t)profile);
	}
}

int perfetto_number_frames(const struct profile *profile, const struct timeline *timeline,
			   uint32_t **ret)
{
	uint32_t count = profile_count_locations(profile);
	_cleanup_free_ uint32_t *uses = calloc((size_t)count + 1, sizeof(*uses));
	_cleanup_free_ uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
	_cleanup_free_ uint32_t *numbers =
		calloc((size_t)profile_count_frames(profile) + 1, sizeof(*numbers));
	uint32_t num_used = 0;
	uint32_t number = 0;
	int err = uses && order && numbers ? count_uses(profile, timeline, uses) : -ENOMEM;

	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++)
		if (uses[i])
			order[num_used++] = i;
	sort_locations(profile, uses, order, num_used);
	for (uint32_t i = 0; i < num_used; i++) {
		const struct location *location = profile_get_location(profile, order[i]);

		for (uint32_t frame = 0; frame < location->num_frames; frame++)
			numbers[location->first_frame + frame] = ++number;
	}
	*ret = return_ptr(numbers);
	return 0;
}
