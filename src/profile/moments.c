#include "profile/moments.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define NS_PER_MS 1000000ull
/* 24 MB. */
#define FIRST_LIMIT (1u << 20)

struct clock {
	uint32_t source;
	uint64_t zero_ns;
};

struct moments {
	ARRAY(struct moment) items;
	ARRAY(struct clock) clocks;
	size_t limit; /* so many are too many */
	uint64_t resolution_ns;
	bool is_sorted;
};

struct moments *moments_new(void)
{
	struct moments *moments = calloc(1, sizeof(*moments));

	if (!moments)
		return NULL;
	moments->limit = FIRST_LIMIT;
	moments->resolution_ns = NS_PER_MS;
	moments->is_sorted = true;
	return moments;
}

void moments_free(struct moments *moments)
{
	if (!moments)
		return;
	array_release(&moments->items);
	array_release(&moments->clocks);
	free(moments);
}

static int compare(const void *a, const void *b)
{
	const struct moment *left = a;
	const struct moment *right = b;

	if (left->sample != right->sample)
		return left->sample < right->sample ? -1 : 1;
	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

void moments_sort(struct moments *moments)
{
	if (!moments->is_sorted)
		qsort(moments->items.items, moments->items.length, sizeof(struct moment), compare);
	moments->is_sorted = true;
}

/*
 * Steps in milliseconds: what 1 s, 5 s, 10 s, 1 min, 5 min, 10 min, 1 h, 6 h and a day are in 50
 * parts.
 */
uint64_t moments_get_coarser_ns(uint64_t resolution_ns)
{
	static const uint32_t steps_ms[] = {20,    100,   200,    1200,   6000,
					    12000, 72000, 432000, 1728000};

	for (size_t i = 0; i < ARRAY_LENGTH(steps_ms); i++)
		if (resolution_ns < steps_ms[i] * NS_PER_MS)
			return steps_ms[i] * NS_PER_MS;
	return resolution_ns * 2;
}

/* Round the times, and make one of those that are the same; they are sorted. */
static void merge_equal(struct moments *moments)
{
	struct moment *items = moments->items.items;
	size_t kept = 0;

	for (size_t i = 0; i < moments->items.length; i++) {
		struct moment moment = items[i];

		moment.time_ns -= moment.time_ns % moments->resolution_ns;
		if (kept && compare(&items[kept - 1], &moment) == 0)
			items[kept - 1].weight += moment.weight;
		else
			items[kept++] = moment;
	}
	moments->items.length = kept;
}

/*
 * There is room again afterwards; where every moment is of another sample, because more is given.
 */
static void make_room(struct moments *moments)
{
	moments_sort(moments);
	merge_equal(moments);
	while (moments->items.length > moments->limit / 2 &&
	       moments->resolution_ns < UINT64_MAX / 4) {
		moments->resolution_ns = moments_get_coarser_ns(moments->resolution_ns);
		merge_equal(moments);
	}
	if (moments->items.length > moments->limit / 2)
		moments->limit = moments->items.length * 2;
}

int moments_add(struct moments *moments, uint32_t sample, uint64_t time_ns, uint64_t weight)
{
	struct moment *added;

	if (moments->items.length >= moments->limit)
		make_room(moments);
	added = array_add(&moments->items);
	if (!added)
		return -ENOMEM;
	*added = (struct moment){
		.time_ns = time_ns - time_ns % moments->resolution_ns,
		.weight = weight,
		.sample = sample,
	};
	if (moments->items.length > 1 && compare(added - 1, added) > 0)
		moments->is_sorted = false;
	return 0;
}

size_t moments_count(const struct moments *moments)
{
	return moments->items.length;
}

const struct moment *moments_get(const struct moments *moments, size_t id)
{
	return &moments->items.items[id];
}

uint64_t moments_get_resolution_ns(const struct moments *moments)
{
	return moments->resolution_ns;
}

int moments_set_clock(struct moments *moments, uint32_t source, uint64_t zero_ns)
{
	struct clock *added;

	array_for_each (&moments->clocks, clock) {
		if (clock->source != source)
			continue;
		clock->zero_ns = zero_ns;
		return 0;
	}
	added = array_add(&moments->clocks);
	if (!added)
		return -ENOMEM;
	*added = (struct clock){source, zero_ns};
	return 0;
}

bool moments_find_clock(const struct moments *moments, uint32_t source, uint64_t *ret_zero_ns)
{
	array_for_each (&moments->clocks, clock) {
		if (clock->source != source)
			continue;
		*ret_zero_ns = clock->zero_ns;
		return true;
	}
	return false;
}
