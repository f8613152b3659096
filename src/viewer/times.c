/*
 * A sample of the profile may represent many observations that were equal except for their time. So
 * a filter by time does not select samples, but gives each the part of its weight that is inside. A
 * part may have no time at all. It is dropped if any range selects times, and kept if ranges only
 * exclude. Hence the two directions of weigh(): it starts with nothing and adds, or starts with
 * everything and subtracts.
 *
 * Ranges that select times have one range in common. Ranges that exclude times are cut out of it.
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
		if (timestamps_get_end_ns(timestamps, timestamp) > span->last_ns)
			span->last_ns = timestamps_get_end_ns(timestamps, timestamp);
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

/* A time of a range on the source's clock; UINT64_MAX: later than any. */
static uint64_t place(uint64_t first_ns, uint64_t time_ms)
{
	uint64_t time_ns;

	if (__builtin_mul_overflow(time_ms, NS_PER_MS, &time_ns) ||
	    __builtin_add_overflow(time_ns, first_ns, &time_ns))
		return UINT64_MAX;
	return time_ns;
}

/* The range that those which select have in common. */
static void find_common(const struct ranges *ranges, uint64_t *ret_from_ms, uint64_t *ret_to_ms)
{
	*ret_from_ms = 0;
	*ret_to_ms = UINT64_MAX;
	array_for_each (&ranges->items, range) {
		if (range->excludes)
			continue;
		if (range->from_ms > *ret_from_ms)
			*ret_from_ms = range->from_ms;
		if (range->to_ms < *ret_to_ms)
			*ret_to_ms = range->to_ms;
	}
}

/* Move from_ms to where no range excludes times, and to_ms to where the next one does. */
static void skip_excluded(const struct ranges *ranges, uint64_t *from_ms, uint64_t *to_ms)
{
	bool has_moved;

	do {
		has_moved = false;
		array_for_each (&ranges->items, range) {
			if (!range->excludes || range->from_ms > *from_ms ||
			    range->to_ms <= *from_ms)
				continue;
			*from_ms = range->to_ms;
			has_moved = true;
		}
	} while (has_moved);
	array_for_each (&ranges->items, range)
		if (range->excludes && range->from_ms > *from_ms && range->from_ms < *to_ms)
			*to_ms = range->from_ms;
}

/* The part of a timestamp's weight that passes. first_ns: the first time of its source */
static uint64_t get_part(const struct timestamps *timestamps, const struct timestamp *timestamp,
			 const struct ranges *ranges, uint64_t first_ns)
{
	uint64_t weight = 0;
	uint64_t from_ms;
	uint64_t end_ms;
	uint64_t to_ms;

	find_common(ranges, &from_ms, &end_ms);
	for (; from_ms < end_ms; from_ms = to_ms) {
		to_ms = end_ms;
		skip_excluded(ranges, &from_ms, &to_ms);
		if (from_ms >= to_ms)
			break;
		weight += timestamps_get_weight_before(timestamps, timestamp,
						       place(first_ns, to_ms)) -
			  timestamps_get_weight_before(timestamps, timestamp,
						       place(first_ns, from_ms));
	}
	return weight;
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

static int weigh_timestamps(const struct profile *profile, const struct ranges *ranges,
			    uint64_t *parts)
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

		parts[i] = get_part(timestamps, timestamp, ranges, first_ns);
	}
	return 0;
}

/* *ret: NULL without ranges. */
static int weigh_by_ranges(const struct profile *profile, const struct ranges *ranges,
			   uint64_t **ret)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	size_t count = timestamps ? timestamps_count(timestamps) : 0;
	_cleanup_free_ uint64_t *parts = NULL;
	int err;

	*ret = NULL;
	if (!ranges->items.length)
		return 0;
	parts = calloc(count + 1, sizeof(*parts));
	err = parts ? weigh_timestamps(profile, ranges, parts) : -ENOMEM;
	if (err)
		return err;
	*ret = return_ptr(parts);
	return 0;
}

int times_select(const struct profile *profile, const char *filters, uint64_t **ret,
		 struct error *error)
{
	_cleanup_(ranges_release) struct ranges ranges = {0};
	int err = read_ranges(&ranges, filters, error);

	return err ? err : weigh_by_ranges(profile, &ranges, ret);
}

/* The part of each sample that is inside, by the parts of its timestamps. */
static void weigh(const struct profile *profile, bool take_timeless, const uint64_t *parts,
		  uint64_t *values)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	size_t count = timestamps ? timestamps_count(timestamps) : 0;

	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		values[i] = take_timeless ? profile_get_sample(profile, i)->value : 0;
	for (size_t i = 0; i < count; i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		uint64_t *value = &values[timestamp->sample];
		uint64_t rest = timestamp->weight - parts[i];

		if (!take_timeless)
			*value += parts[i];
		else /* A sample's timestamps never exceed its weight; this is only a guard. */
			*value -= rest < *value ? rest : *value;
	}
}

int times_apply(const struct profile *profile, const char *filters, uint64_t **ret_values,
		struct error *error)
{
	_cleanup_(ranges_release) struct ranges ranges = {0};
	_cleanup_free_ uint64_t *parts = NULL;
	_cleanup_free_ uint64_t *values = NULL;
	int err = read_ranges(&ranges, filters, error);

	if (err)
		return err;
	err = weigh_by_ranges(profile, &ranges, &parts);
	if (err)
		return err;
	if (parts) {
		values = calloc((size_t)profile_count_samples(profile) + 1, sizeof(*values));
		if (!values)
			return -ENOMEM;
		weigh(profile, ranges.take_timeless, parts, values);
	}
	*ret_values = return_ptr(values);
	return 0;
}
