/*
 * A sample of the profile may represent many observations that were equal except for their time. So
 * a filter by time does not select samples, but gives each the part of its weight that is inside. A
 * part may have no time at all. It is dropped if any range selects times, and kept if ranges only
 * exclude. Hence the two directions of weigh(): it starts with nothing and adds, or starts with
 * everything and subtracts.
 */
#include "viewer/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/reader.h"

#define NS_PER_MS 1000000ull
#define KIND      "time:"

static uint32_t get_source(const struct profile *profile, const struct timestamp *timestamp)
{
	uint32_t thread = profile_get_sample(profile, timestamp->sample)->thread;

	return profile_get_thread(profile, thread)->source;
}

int times_find_spans(const struct profile *profile, struct time_span **ret)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	size_t count = timestamps ? timestamps_count(timestamps) : 0;
	struct time_span *spans =
		calloc((size_t)profile_count_sources(profile) + 1, sizeof(*spans));

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		struct time_span *span = &spans[get_source(profile, timestamp)];

		if (!span->exists || timestamp->time_ns < span->first_ns)
			span->first_ns = timestamp->time_ns;
		if (timestamp->time_ns > span->last_ns)
			span->last_ns = timestamp->time_ns;
		span->exists = true;
	}
	*ret = spans;
	return 0;
}

/* ---- filters ------------------------------------------------------------------------------ */

struct time_range {
	uint64_t from_ms;
	uint64_t to_ms;
	bool excludes;
};

struct ranges {
	ARRAY(struct time_range) items;
	bool take_timeless; /* all of them exclude */
};

static void ranges_release(struct ranges *ranges)
{
	array_release(&ranges->items);
}

bool times_is_filter(const char *line, size_t length)
{
	return length > strlen(KIND) && (line[0] == '+' || line[0] == '-') &&
	       memcmp(line + 1, KIND, strlen(KIND)) == 0;
}

/* Milliseconds count from the first sample of each file, so that files can be compared. */
static int add_range(struct ranges *ranges, const char *line, size_t length, struct error *error)
{
	size_t head = 1 + strlen(KIND);
	const char *text = line + head;
	const char *dash = memchr(text, '-', length - head);
	struct time_range range = {.excludes = line[0] == '-'};
	struct time_range *added;

	if (!dash || !parse_u64(text, (size_t)(dash - text), &range.from_ms) ||
	    !parse_u64(dash + 1, (size_t)(line + length - dash - 1), &range.to_ms) ||
	    range.from_ms >= range.to_ms)
		return error_set(
			error, -EINVAL,
			"'%.*s' is not a time range: expected time:FROM-TO, in milliseconds",
			length < 100 ? (int)length : 100, line);
	added = array_add(&ranges->items);
	if (!added)
		return -ENOMEM;
	*added = range;
	ranges->take_timeless &= range.excludes;
	return 0;
}

static bool contains(const struct ranges *ranges, uint64_t time_ms)
{
	array_for_each (&ranges->items, range) {
		bool is_inside = time_ms >= range->from_ms && time_ms < range->to_ms;

		if (is_inside == range->excludes)
			return false;
	}
	return true;
}

static int read_ranges(struct ranges *ranges, const char *filters, struct error *error)
{
	size_t length;

	ranges->take_timeless = true;
	for (; *filters; filters += length + (filters[length] == '\n')) {
		int err;

		length = strcspn(filters, "\n");
		if (!times_is_filter(filters, length))
			continue;
		err = add_range(ranges, filters, length, error);
		if (err)
			return err;
	}
	return 0;
}

static int select_timestamps(const struct profile *profile, const struct ranges *ranges,
			     uint8_t *is_selected)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	size_t count = timestamps ? timestamps_count(timestamps) : 0;
	_cleanup_free_ struct time_span *spans = NULL;
	int err = times_find_spans(profile, &spans);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		uint64_t first_ns = spans[get_source(profile, timestamp)].first_ns;

		is_selected[i] = contains(ranges, (timestamp->time_ns - first_ns) / NS_PER_MS);
	}
	return 0;
}

/* *ret: NULL without ranges. */
static int select_by_ranges(const struct profile *profile, const struct ranges *ranges,
			    uint8_t **ret)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	size_t count = timestamps ? timestamps_count(timestamps) : 0;
	_cleanup_free_ uint8_t *is_selected = NULL;
	int err;

	*ret = NULL;
	if (!ranges->items.length)
		return 0;
	is_selected = calloc(count + 1, sizeof(*is_selected));
	err = is_selected ? select_timestamps(profile, ranges, is_selected) : -ENOMEM;
	if (err)
		return err;
	*ret = return_ptr(is_selected);
	return 0;
}

int times_select(const struct profile *profile, const char *filters, uint8_t **ret,
		 struct error *error)
{
	_cleanup_(ranges_release) struct ranges ranges = {0};
	int err = read_ranges(&ranges, filters, error);

	return err ? err : select_by_ranges(profile, &ranges, ret);
}

/* The part of each sample that is inside, by the selection of its timestamps. */
static void weigh(const struct profile *profile, bool take_timeless, const uint8_t *is_selected,
		  uint64_t *values)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	size_t count = timestamps ? timestamps_count(timestamps) : 0;

	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		values[i] = take_timeless ? profile_get_sample(profile, i)->value : 0;
	for (size_t i = 0; i < count; i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		uint64_t *value = &values[timestamp->sample];

		if (is_selected[i] && !take_timeless)
			*value += timestamp->weight;
		else if (!is_selected[i] && take_timeless)
			/* A sample's timestamps never exceed its weight; this is only a guard. */
			*value -= timestamp->weight < *value ? timestamp->weight : *value;
	}
}

int times_apply(const struct profile *profile, const char *filters, uint64_t **ret_values,
		struct error *error)
{
	_cleanup_(ranges_release) struct ranges ranges = {0};
	_cleanup_free_ uint8_t *is_selected = NULL;
	_cleanup_free_ uint64_t *values = NULL;
	int err = read_ranges(&ranges, filters, error);

	if (err)
		return err;
	err = select_by_ranges(profile, &ranges, &is_selected);
	if (err)
		return err;
	if (is_selected) {
		values = calloc((size_t)profile_count_samples(profile) + 1, sizeof(*values));
		if (!values)
			return -ENOMEM;
		weigh(profile, ranges.take_timeless, is_selected, values);
	}
	*ret_values = return_ptr(values);
	return 0;
}
