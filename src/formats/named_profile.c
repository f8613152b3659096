/*
 * A copy of a profile in which every location is one named frame.
 *
 * Two changes are made to each stack on the way: a location with inlined calls becomes a level for
 * each of its frames, and addresses are dropped. So two call sites in one function (the same
 * function, file and line) become the same level. Several stacks may therefore become one, and
 * their weights are added up. Ids of the copy are its own: maps from old to new ids of stacks,
 * threads and processes are filled as samples need them, so that unreferenced ones are not copied.
 * Metrics and sources are all copied, in their order, and keep their ids.
 */
#include "formats/named_profile.h"

#include <errno.h>

#include "base/array.h"

#define NOT_COPIED UINT32_MAX

struct copier {
	const struct profile *from;
	struct profile *to;
	uint32_t *stacks;           /* by stack of `from`: that of `to`, or NOT_COPIED */
	uint32_t *threads;          /* by thread */
	uint32_t *processes;        /* by process */
	const uint8_t *is_left_out; /* by source; NULL: none is */
	ARRAY(uint32_t) path;       /* stacks that are being copied, innermost first */
};

bool named_profile_is_needless(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);

		if (location->space != LOCATION_NAMED || location->num_frames != 1)
			return false;
	}
	return true;
}

/* Replace the id of a string in one profile by its id in the other. */
static int copy_string(struct copier *copier, uint32_t *string)
{
	return profile_copy_string(copier->from, *string, profile_get_strings(copier->to), string);
}

static int copy_metrics(struct copier *copier)
{
	uint32_t ignored;
	int err;

	for (uint32_t i = 0; i < profile_count_metrics(copier->from); i++) {
		const struct metric *metric = profile_get_metric(copier->from, i);

		err = profile_add_metric(copier->to, profile_get_string(copier->from, metric->name),
					 profile_get_string(copier->from, metric->unit), &ignored);
		if (err)
			return err;
	}
	return 0;
}

/* The sampling and the tallies of a source; source 0: of a profile without sources. */
static int copy_account(struct copier *copier, uint32_t source)
{
	const struct provenance *from = profile_get_provenance(copier->from);
	struct provenance *to = profile_get_provenance(copier->to);
	const struct sampling *sampling = provenance_find_sampling(from, source);
	int err;

	if (sampling)
		provenance_add_sampling(to, source, sampling);
	for (uint32_t i = 0; i < provenance_count_tallies(from); i++) {
		struct tally tally = *provenance_get_tally(from, i);

		if (tally.source != source)
			continue;
		err = copy_string(copier, &tally.name);
		if (err)
			return err;
		err = provenance_add_tally(to, source, tally.name, tally.count);
		if (err)
			return err;
	}
	return 0;
}

/* A source that is left out stays, without its details, so that others keep their numbers. */
static int copy_source(struct copier *copier, uint32_t source)
{
	uint32_t name = profile_get_source(copier->from, source);
	uint32_t label = provenance_get_label(profile_get_provenance(copier->from), source);
	uint32_t copied;
	int err = copy_string(copier, &name);

	if (err)
		return err;
	err = copy_string(copier, &label);
	if (err)
		return err;
	err = profile_add_source(copier->to, name, &copied);
	if (err)
		return err;
	provenance_set_label(profile_get_provenance(copier->to), copied, label);
	if (copier->is_left_out && copier->is_left_out[source])
		return 0;
	return copy_account(copier, source);
}

static int copy_sources(struct copier *copier)
{
	uint32_t count = profile_count_sources(copier->from);

	if (!count)
		return copy_account(copier, 0);
	for (uint32_t i = 0; i < count; i++) {
		int err = copy_source(copier, i);

		if (err)
			return err;
	}
	return 0;
}

static int copy_process(struct copier *copier, uint32_t id, uint32_t *ret)
{
	struct process_info info = *profile_get_process(copier->from, id);
	uint32_t *known = &copier->processes[id];
	int err;

	if (*known == NOT_COPIED) {
		err = copy_string(copier, &info.comm);
		if (err)
			return err;
		err = copy_string(copier, &info.script);
		if (err)
			return err;
		err = profile_add_process(copier->to, info.pid, info.comm, known);
		if (err)
			return err;
		profile_set_process_script(copier->to, *known, info.script);
	}
	*ret = *known;
	return 0;
}

static int copy_thread(struct copier *copier, uint32_t id, uint32_t *ret)
{
	struct thread thread = *profile_get_thread(copier->from, id);
	uint32_t *known = &copier->threads[id];
	int err;

	if (*known == NOT_COPIED) {
		err = copy_process(copier, thread.process, &thread.process);
		if (err)
			return err;
		err = copy_string(copier, &thread.comm);
		if (err)
			return err;
		err = profile_add_thread(copier->to, &thread, known);
		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

static int add_level(struct copier *copier, const struct frame *frame, uint32_t *stack)
{
	uint32_t location;
	int err = profile_add_frame_location(copier->to, frame, &location);

	if (err)
		return err;
	return profile_add_stack(copier->to, *stack, location, stack);
}

/* Frames of a location are innermost first, so the function itself is the last one. */
static int copy_location(struct copier *copier, uint32_t id, uint32_t *stack)
{
	const struct location *location = profile_get_location(copier->from, id);
	int err;

	if (!location->num_frames) {
		struct frame frame = {0};

		err = profile_add_string(copier->to, UNKNOWN_NAME, &frame.name);
		if (err)
			return err;
		frame.full_name = frame.name;
		return add_level(copier, &frame, stack);
	}
	for (uint32_t i = location->num_frames; i-- > 0;) {
		struct frame frame = *profile_get_frame(copier->from, location->first_frame + i);
		uint32_t *strings[] = {&frame.name, &frame.full_name, &frame.module, &frame.file};

		for (size_t j = 0; j < ARRAY_LENGTH(strings); j++) {
			err = copy_string(copier, strings[j]);
			if (err)
				return err;
		}
		err = add_level(copier, &frame, stack);
		if (err)
			return err;
	}
	return 0;
}

/* Up to the nearest caller that was copied before, and then down again level by level. */
static int copy_stack(struct copier *copier, uint32_t stack, uint32_t *ret)
{
	uint32_t copied;

	copier->path.length = 0;
	while (copier->stacks[stack] == NOT_COPIED) {
		uint32_t *level = array_add(&copier->path);

		if (!level)
			return -ENOMEM;
		*level = stack;
		stack = profile_get_stack_parent(copier->from, stack);
	}
	copied = copier->stacks[stack];
	while (copier->path.length) {
		int err;

		stack = copier->path.items[--copier->path.length];
		err = copy_location(copier, profile_get_stack_location(copier->from, stack),
				    &copied);
		if (err)
			return err;
		copier->stacks[stack] = copied;
	}
	*ret = copied;
	return 0;
}

/* Timestamps of the samples that were copied; their threads and stacks are known by now. */
static int copy_timestamps(struct copier *copier)
{
	const struct timestamps *timestamps = profile_get_timestamps(copier->from);
	int err;

	if (!timestamps)
		return 0;
	err = profile_keep_timestamps(copier->to);
	if (err)
		return err;
	for (size_t i = 0; i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		const struct sample *sample = profile_get_sample(copier->from, timestamp->sample);

		/*
		 * A thread is of one source: it was left out with all of its samples, or not at
		 * all.
		 */
		if (copier->threads[sample->thread] == NOT_COPIED)
			continue;
		err = profile_add_timestamp(copier->to, copier->threads[sample->thread],
					    copier->stacks[sample->stack], sample->metric,
					    timestamp->weight, timestamp->time_ns);
		if (err)
			return err;
	}
	/* Source 0 may have a clock without a source. */
	for (uint32_t i = 0; i <= profile_count_sources(copier->from); i++) {
		uint64_t zero_ns;

		if (!timestamps_find_clock(timestamps, i, &zero_ns))
			continue;
		err = profile_set_clock(copier->to, i, zero_ns);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Copy the number of samples of each metric that lost none. For the others, each stack has at least
 * one.
 */
static int copy_sample_counts(struct copier *copier)
{
	uint32_t num_metrics = profile_count_metrics(copier->from);
	_cleanup_free_ uint64_t *num_left_out = calloc((size_t)num_metrics + 1, sizeof(uint64_t));

	if (!num_left_out)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_samples(copier->from); i++) {
		const struct sample *sample = profile_get_sample(copier->from, i);

		num_left_out[sample->metric] += copier->threads[sample->thread] == NOT_COPIED;
	}
	for (uint32_t i = 0; i < num_metrics; i++)
		if (!num_left_out[i])
			profile_set_metric_samples(
				copier->to, i, profile_get_metric(copier->from, i)->num_samples);
	return 0;
}

static int copy_samples(struct copier *copier)
{
	int err;

	for (uint32_t i = 0; i < profile_count_samples(copier->from); i++) {
		const struct sample *sample = profile_get_sample(copier->from, i);
		uint32_t source = profile_get_thread(copier->from, sample->thread)->source;
		uint32_t thread;
		uint32_t stack;

		if (copier->is_left_out && copier->is_left_out[source])
			continue;
		err = copy_thread(copier, sample->thread, &thread);
		if (err)
			return err;
		err = copy_stack(copier, sample->stack, &stack);
		if (err)
			return err;
		err = profile_add_sample(copier->to, thread, stack, sample->metric, sample->value);
		if (err)
			return err;
	}
	return 0;
}

/* All NOT_COPIED; NULL when out of memory. */
static uint32_t *make_map(uint32_t count)
{
	uint32_t *map = malloc(((size_t)count + 1) * sizeof(*map));

	for (uint32_t i = 0; map && i < count; i++)
		map[i] = NOT_COPIED;
	return map;
}

static void release_copier(struct copier *copier)
{
	profile_free(copier->to);
	free(copier->stacks);
	free(copier->threads);
	free(copier->processes);
	array_release(&copier->path);
}

int named_profile_copy_without(const struct profile *profile, const uint8_t *is_left_out,
			       struct profile **ret)
{
	_cleanup_(release_copier) struct copier copier = {
		.is_left_out = is_left_out,
		.from = profile,
		.to = profile_new(),
		.stacks = make_map(profile_count_stacks(profile)),
		.threads = make_map(profile_count_threads(profile)),
		.processes = make_map(profile_count_processes(profile)),
	};
	int err;

	if (!copier.to || !copier.stacks || !copier.threads || !copier.processes)
		return -ENOMEM;
	copier.stacks[STACK_EMPTY] = STACK_EMPTY;
	err = copy_metrics(&copier);
	if (err)
		return err;
	err = copy_sources(&copier);
	if (err)
		return err;
	err = copy_samples(&copier);
	if (err)
		return err;
	err = copy_sample_counts(&copier);
	if (err)
		return err;
	err = copy_timestamps(&copier);
	if (err)
		return err;
	*ret = return_ptr(copier.to);
	return 0;
}

int named_profile_copy(const struct profile *profile, struct profile **ret)
{
	return named_profile_copy_without(profile, NULL, ret);
}
