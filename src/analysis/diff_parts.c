#include "analysis/diff_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Minimum of the weight with a time, in tenths. */
#define MIN_TIMED 9

struct diff_span {
	uint64_t first_ns;
	uint64_t last_ns;
	bool exists;
};

static uint32_t get_source(const struct profile *profile, uint32_t sample)
{
	return profile_get_thread(profile, profile_get_sample(profile, sample)->thread)->source;
}

static bool is_counted(const struct diff_parts *parts, uint32_t sample)
{
	return profile_get_sample(parts->profile, sample)->metric == parts->opts->metric &&
	       selection_contains(parts->opts->selection, sample);
}

static uint64_t get_value(const struct diff_parts *parts, uint32_t sample)
{
	return parts->opts->values ? parts->opts->values[sample]
				   : profile_get_sample(parts->profile, sample)->value;
}

static size_t count_timestamps(const struct diff_parts *parts)
{
	const struct timestamps *timestamps = profile_get_timestamps(parts->profile);

	return timestamps ? timestamps_count(timestamps) : 0;
}

/* A timestamp of the metric and selection, with the span of its source; NULL for others. */
static const struct timestamp *get_timestamp(const struct diff_parts *parts, size_t i,
					     struct diff_span **ret_span)
{
	const struct timestamp *timestamp =
		timestamps_get(profile_get_timestamps(parts->profile), i);

	if (!is_counted(parts, timestamp->sample) ||
	    (parts->opts->timestamps && !parts->opts->timestamps[i]))
		return NULL;
	*ret_span = &parts->spans[get_source(parts->profile, timestamp->sample)];
	return timestamp;
}

/*
 * Times are from foreign files, and may be anything: a span times the number of slices may exceed
 * 64 bits.
 */
static size_t get_slice(const struct diff_parts *parts, const struct diff_span *span,
			uint64_t time_ns)
{
	double resolution =
		(double)timestamps_get_resolution_ns(profile_get_timestamps(parts->profile));
	double length = (double)(span->last_ns - span->first_ns) + resolution;
	size_t slice = (size_t)((double)(time_ns - span->first_ns) / length * DIFF_SLICES);

	return slice < DIFF_SLICES ? slice : DIFF_SLICES - 1;
}

static void find_spans(const struct diff_parts *parts)
{
	size_t count = count_timestamps(parts);

	for (size_t i = 0; i < count; i++) {
		struct diff_span *span;
		const struct timestamp *timestamp = get_timestamp(parts, i, &span);

		if (!timestamp)
			continue;
		if (!span->exists || timestamp->time_ns < span->first_ns)
			span->first_ns = timestamp->time_ns;
		if (timestamp->time_ns > span->last_ns)
			span->last_ns = timestamp->time_ns;
		span->exists = true;
	}
}

/* Whether slices cover the whole: weights are added as doubles, as their sum may exceed 64 bits. */
static bool have_slices(const struct diff_parts *parts)
{
	bool has_samples[DIFF_SLICES] = {false};
	size_t num_slices = 0;
	size_t count = count_timestamps(parts);
	double timed = 0;
	double all = 0;

	for (size_t i = 0; i < count; i++) {
		struct diff_span *span;
		const struct timestamp *timestamp = get_timestamp(parts, i, &span);

		if (!timestamp)
			continue;
		timed += (double)timestamp->weight;
		has_samples[get_slice(parts, span, timestamp->time_ns)] = true;
	}
	for (uint32_t i = 0; i < profile_count_samples(parts->profile); i++)
		if (is_counted(parts, i))
			all += (double)get_value(parts, i);
	for (size_t i = 0; i < DIFF_SLICES; i++)
		num_slices += has_samples[i];
	return num_slices >= DIFF_MIN_SLICES && timed * 10 >= all * MIN_TIMED;
}

int diff_parts_init(struct diff_parts *parts, const struct profile *profile,
		    const struct diff_side_opts *opts)
{
	*parts = (struct diff_parts){.profile = profile, .opts = opts};
	if (opts->runs.length > 1) {
		parts->num_parts = opts->runs.length;
		return 0;
	}
	if (!count_timestamps(parts))
		return 0;
	/* Allocate one more, as a recording has no source. */
	parts->spans = calloc((size_t)profile_count_sources(profile) + 1, sizeof(*parts->spans));
	if (!parts->spans)
		return -ENOMEM;
	find_spans(parts);
	if (have_slices(parts))
		parts->num_parts = DIFF_SLICES;
	return 0;
}

void diff_parts_release(struct diff_parts *parts)
{
	free(parts->spans);
	*parts = (struct diff_parts){0};
}

static void get_run(const struct diff_parts *parts, const struct diff_run *run, uint64_t *values)
{
	for (uint32_t i = 0; i < profile_count_samples(parts->profile); i++) {
		uint32_t source = get_source(parts->profile, i);

		if (is_counted(parts, i) && source >= run->first_source && source < run->end_source)
			values[i] = get_value(parts, i);
	}
}

void diff_parts_get_values(const struct diff_parts *parts, size_t part, uint64_t *values)
{
	size_t count = count_timestamps(parts);

	memset(values, 0, profile_count_samples(parts->profile) * sizeof(*values));
	if (!parts->spans) {
		get_run(parts, &parts->opts->runs.items[part], values);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct diff_span *span;
		const struct timestamp *timestamp = get_timestamp(parts, i, &span);

		if (timestamp && get_slice(parts, span, timestamp->time_ns) == part)
			values[timestamp->sample] += timestamp->weight;
	}
}
