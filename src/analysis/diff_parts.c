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

static const struct timestamps *get_timestamps(const struct diff_parts *parts)
{
	return profile_get_timestamps(parts->profile);
}

/* The weight of a timestamp of the metric and selection, with the span of its source; 0 for others. */
static uint64_t get_weight(const struct diff_parts *parts, size_t i, struct diff_span **ret_span)
{
	const struct timestamp *timestamp = timestamps_get(get_timestamps(parts), i);

	if (!is_counted(parts, timestamp->sample))
		return 0;
	*ret_span = &parts->spans[get_source(parts->profile, timestamp->sample)];
	return parts->opts->timestamps ? parts->opts->timestamps[i] : timestamp->weight;
}

/*
 * A time in its span, in slices. Times are from foreign files, and may be anything: a span times
 * the number of slices may exceed 64 bits.
 */
static double get_place(const struct diff_parts *parts, const struct diff_span *span,
			uint64_t time_ns)
{
	double resolution = (double)timestamps_get_resolution_ns(get_timestamps(parts));
	double length = (double)(span->last_ns - span->first_ns) + resolution;

	if (time_ns <= span->first_ns)
		return 0;
	if (time_ns >= span->last_ns)
		time_ns = span->last_ns;
	return (double)(time_ns - span->first_ns) / length * DIFF_SLICES;
}

/* The part of a timestamp's weight that is in a slice. */
static uint64_t get_part(const struct diff_parts *parts, const struct diff_span *span, size_t i,
			 uint64_t weight, size_t slice)
{
	const struct timestamp *timestamp = timestamps_get(get_timestamps(parts), i);
	double start = get_place(parts, span, timestamp->time_ns);
	double end =
		get_place(parts, span, timestamps_get_end_ns(get_timestamps(parts), timestamp));
	double from = (double)slice > start ? (double)slice : start;
	double to = (double)slice + 1 < end ? (double)slice + 1 : end;

	if (!(start < end)) { /* a moment */
		size_t at = start < DIFF_SLICES ? (size_t)start : DIFF_SLICES - 1;

		return at == slice ? weight : 0;
	}
	if (from >= to)
		return 0;
	return (uint64_t)((double)weight * (to - start) / (end - start)) -
	       (uint64_t)((double)weight * (from - start) / (end - start));
}

static void add_to_span(const struct diff_parts *parts, const struct timestamp *timestamp,
			struct diff_span *span)
{
	uint64_t end_ns = timestamps_get_end_ns(get_timestamps(parts), timestamp);

	if (!span->exists || timestamp->time_ns < span->first_ns)
		span->first_ns = timestamp->time_ns;
	if (end_ns > span->last_ns)
		span->last_ns = end_ns;
	span->exists = true;
}

/* An interval that a filter by time cuts reaches out of the span. */
static void find_spans(const struct diff_parts *parts)
{
	size_t count = count_timestamps(parts);

	for (size_t i = 0; i < count; i++) {
		const struct timestamp *timestamp = timestamps_get(get_timestamps(parts), i);
		struct diff_span *span;

		if (timestamp->weight && get_weight(parts, i, &span) == timestamp->weight)
			add_to_span(parts, timestamp, span);
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
		uint64_t weight = get_weight(parts, i, &span);

		if (!weight || !span->exists)
			continue;
		timed += (double)weight;
		for (size_t slice = 0; slice < DIFF_SLICES; slice++)
			if (!has_samples[slice])
				has_samples[slice] = get_part(parts, span, i, weight, slice);
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
		uint64_t weight = get_weight(parts, i, &span);

		if (weight && span->exists)
			values[timestamps_get(get_timestamps(parts), i)->sample] +=
				get_part(parts, span, i, weight, part);
	}
}
