#include "profile/timestamps.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define NS_PER_MS 1000000ull
/* 24 MB. */
#define FIRST_LIMIT (1u << 20)

/*
 * zero_ns: CLOCK_REALTIME when the source's own clock was 0. Before 1970 it is negative, that is,
 * wrapped around.
 */
struct clock {
	uint32_t source;
	uint64_t zero_ns;
};

struct timestamps {
	ARRAY(struct timestamp) items;
	ARRAY(struct clock) clocks;
	size_t limit; /* maximum number of items */
	uint64_t resolution_ns;
	bool is_sorted;
};

struct timestamps *timestamps_new(void)
{
	struct timestamps *timestamps = calloc(1, sizeof(*timestamps));

	if (!timestamps)
		return NULL;
	timestamps->limit = FIRST_LIMIT;
	timestamps->resolution_ns = NS_PER_MS;
	timestamps->is_sorted = true;
	return timestamps;
}

void timestamps_free(struct timestamps *timestamps)
{
	if (!timestamps)
		return;
	array_release(&timestamps->items);
	array_release(&timestamps->clocks);
	free(timestamps);
}

static int compare(const void *a, const void *b)
{
	const struct timestamp *left = a;
	const struct timestamp *right = b;

	if (left->sample != right->sample)
		return left->sample < right->sample ? -1 : 1;
	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return (left->duration > right->duration) - (left->duration < right->duration);
}

void timestamps_sort(struct timestamps *timestamps)
{
	if (!timestamps->is_sorted)
		qsort(timestamps->items.items, timestamps->items.length, sizeof(struct timestamp),
		      compare);
	timestamps->is_sorted = true;
}

/* Steps in milliseconds: a fiftieth of 1 s, 5 s, 10 s, 1 min, 5 min, 10 min, 1 h, 6 h and a day. */
uint64_t timestamps_get_coarser_ns(uint64_t resolution_ns)
{
	static const uint32_t steps_ms[] = {20,    100,   200,    1200,   6000,
					    12000, 72000, 432000, 1728000};

	for (size_t i = 0; i < ARRAY_LENGTH(steps_ms); i++)
		if (resolution_ns < steps_ms[i] * NS_PER_MS)
			return steps_ms[i] * NS_PER_MS;
	return resolution_ns * 2;
}

/* Set the interval of a timestamp, rounded. A longer one than 32 bits hold loses its start. */
static void set_interval(const struct timestamps *timestamps, uint64_t start_ns, uint64_t end_ns,
			 struct timestamp *ret)
{
	uint64_t start = start_ns / timestamps->resolution_ns;
	uint64_t end = end_ns / timestamps->resolution_ns;

	if (end > start && end - start > UINT32_MAX)
		start = end - UINT32_MAX;
	ret->time_ns = start * timestamps->resolution_ns;
	ret->duration = end > start ? (uint32_t)(end - start) : 0;
}

/*
 * Round the times, and merge equal ones; they are sorted. They may be out of order then.
 *
 * finer_ns  the resolution until now
 */
static void merge_equal(struct timestamps *timestamps, uint64_t finer_ns)
{
	struct timestamp *items = timestamps->items.items;
	size_t num_merged = 0;

	for (size_t i = 0; i < timestamps->items.length; i++) {
		struct timestamp timestamp = items[i];

		set_interval(timestamps, timestamp.time_ns,
			     timestamp.time_ns + timestamp.duration * finer_ns, &timestamp);
		if (num_merged && compare(&items[num_merged - 1], &timestamp) == 0)
			items[num_merged - 1].weight += timestamp.weight;
		else
			items[num_merged++] = timestamp;
	}
	timestamps->items.length = num_merged;
}

/* Make room; if every time belongs to another sample, by raising the limit. */
static void make_room(struct timestamps *timestamps)
{
	timestamps_sort(timestamps);
	merge_equal(timestamps, timestamps->resolution_ns);
	/*
	 * Down to half of the limit, not just below it: else every few timestamps would sort all of
	 * them again.
	 */
	while (timestamps->items.length > timestamps->limit / 2 &&
	       timestamps->resolution_ns < UINT64_MAX / 4) {
		uint64_t finer_ns = timestamps->resolution_ns;

		timestamps->resolution_ns = timestamps_get_coarser_ns(finer_ns);
		merge_equal(timestamps, finer_ns);
		timestamps->is_sorted = false;
		timestamps_sort(timestamps);
	}
	if (timestamps->items.length > timestamps->limit / 2)
		timestamps->limit = timestamps->items.length * 2;
}

int timestamps_add(struct timestamps *timestamps, uint32_t sample, uint64_t time_ns,
		   uint64_t weight)
{
	return timestamps_add_interval(timestamps, sample, time_ns, time_ns, weight);
}

int timestamps_add_interval(struct timestamps *timestamps, uint32_t sample, uint64_t start_ns,
			    uint64_t end_ns, uint64_t weight)
{
	struct timestamp *added;

	if (timestamps->items.length >= timestamps->limit)
		make_room(timestamps);
	added = array_add(&timestamps->items);
	if (!added)
		return -ENOMEM;
	*added = (struct timestamp){.weight = weight, .sample = sample};
	set_interval(timestamps, start_ns, end_ns, added);
	if (timestamps->items.length > 1 && compare(added - 1, added) > 0)
		timestamps->is_sorted = false;
	return 0;
}

size_t timestamps_count(const struct timestamps *timestamps)
{
	return timestamps->items.length;
}

const struct timestamp *timestamps_get(const struct timestamps *timestamps, size_t id)
{
	return &timestamps->items.items[id];
}

uint64_t timestamps_get_end_ns(const struct timestamps *timestamps,
			       const struct timestamp *timestamp)
{
	uint64_t duration_ns;
	uint64_t end_ns;

	/* Times are from foreign files, and may be anything. */
	if (__builtin_mul_overflow(timestamp->duration, timestamps->resolution_ns, &duration_ns) ||
	    __builtin_add_overflow(timestamp->time_ns, duration_ns, &end_ns))
		return UINT64_MAX;
	return end_ns;
}

uint64_t timestamps_get_weight_before(const struct timestamps *timestamps,
				      const struct timestamp *timestamp, uint64_t time_ns)
{
	uint64_t end_ns = timestamps_get_end_ns(timestamps, timestamp);

	/* The moment at the end of all times is before it, too. */
	if (time_ns == UINT64_MAX || (time_ns >= end_ns && time_ns > timestamp->time_ns))
		return timestamp->weight;
	if (time_ns <= timestamp->time_ns)
		return 0;
	return (uint64_t)((unsigned __int128)timestamp->weight * (time_ns - timestamp->time_ns) /
			  (end_ns - timestamp->time_ns));
}

void timestamps_set_weight(struct timestamps *timestamps, size_t id, uint64_t weight)
{
	timestamps->items.items[id].weight = weight;
}

void timestamps_set(struct timestamps *timestamps, size_t id, const struct timestamp *timestamp)
{
	timestamps->items.items[id] = *timestamp;
}

void timestamps_truncate(struct timestamps *timestamps, size_t count)
{
	timestamps->items.length = count;
}

uint64_t timestamps_get_resolution_ns(const struct timestamps *timestamps)
{
	return timestamps->resolution_ns;
}

int timestamps_set_clock(struct timestamps *timestamps, uint32_t source, uint64_t zero_ns)
{
	struct clock *added;

	array_for_each (&timestamps->clocks, clock) {
		if (clock->source != source)
			continue;
		clock->zero_ns = zero_ns;
		return 0;
	}
	added = array_add(&timestamps->clocks);
	if (!added)
		return -ENOMEM;
	*added = (struct clock){source, zero_ns};
	return 0;
}

bool timestamps_find_clock(const struct timestamps *timestamps, uint32_t source,
			   uint64_t *ret_zero_ns)
{
	array_for_each (&timestamps->clocks, clock) {
		if (clock->source != source)
			continue;
		*ret_zero_ns = clock->zero_ns;
		return true;
	}
	return false;
}
