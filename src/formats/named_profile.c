#include "formats/named_profile.h"

#include <errno.h>

#include "base/array.h"

#define NOT_COPIED   UINT32_MAX
#define UNKNOWN_NAME "[unknown]"

struct copier {
	const struct profile *from;
	struct profile *to;
	uint32_t *stacks;           /* by stack of `from`; NOT_COPIED */
	uint32_t *threads;          /* by thread */
	uint32_t *processes;        /* by process */
	const uint8_t *is_left_out; /* by source; NULL: none is */
	ARRAY(uint32_t) path;
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

static int copy_string(struct copier *copier, uint32_t *string)
{
	return string_table_add(profile_get_strings(copier->to),
				profile_get_string(copier->from, *string),
				profile_get_string_length(copier->from, *string), string);
}

static int copy_metrics(struct copier *copier)
{
	uint32_t ignored;
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_metrics(copier->from); i++) {
		const struct metric *metric = profile_get_metric(copier->from, i);

		err = profile_add_metric(copier->to, profile_get_string(copier->from, metric->name),
					 profile_get_string(copier->from, metric->unit), &ignored);
	}
	return err;
}

/* What is known of a source, or, as source 0, of a profile that has none. */
static int copy_account(struct copier *copier, uint32_t source)
{
	const struct provenance *from = profile_get_provenance(copier->from);
	struct provenance *to = profile_get_provenance(copier->to);
	const struct sampling *sampling = provenance_find_sampling(from, source);
	int err = 0;

	if (sampling)
		provenance_add_sampling(to, source, sampling);
	for (uint32_t i = 0; !err && i < provenance_count_tallies(from); i++) {
		struct tally tally = *provenance_get_tally(from, i);

		if (tally.source != source)
			continue;
		err = copy_string(copier, &tally.name);
		if (!err)
			err = provenance_add_tally(to, source, tally.name, tally.count);
	}
	return err;
}

static int copy_source(struct copier *copier, uint32_t source)
{
	uint32_t name = profile_get_source(copier->from, source);
	uint32_t label = provenance_get_label(profile_get_provenance(copier->from), source);
	uint32_t copied;
	int err = copy_string(copier, &name);

	if (!err)
		err = copy_string(copier, &label);
	if (!err)
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
	int err = count ? 0 : copy_account(copier, 0);

	for (uint32_t i = 0; !err && i < count; i++)
		err = copy_source(copier, i);
	return err;
}

static int copy_process(struct copier *copier, uint32_t *process)
{
	struct process_info info = *profile_get_process(copier->from, *process);
	uint32_t *known = &copier->processes[*process];
	int err = 0;

	if (*known == NOT_COPIED) {
		err = copy_string(copier, &info.comm);
		if (!err)
			err = profile_add_process(copier->to, info.pid, info.comm, known);
	}
	if (!err)
		*process = *known;
	return err;
}

static int copy_thread(struct copier *copier, uint32_t id, uint32_t *ret)
{
	struct thread thread = *profile_get_thread(copier->from, id);
	uint32_t *known = &copier->threads[id];
	int err = 0;

	if (*known == NOT_COPIED) {
		err = copy_process(copier, &thread.process);
		if (!err)
			err = copy_string(copier, &thread.comm);
		if (!err)
			err = profile_add_thread(copier->to, &thread, known);
	}
	if (!err)
		*ret = *known;
	return err;
}

static int add_level(struct copier *copier, const struct frame *frame, uint32_t *stack)
{
	uint32_t location;
	int err = profile_add_frame_location(copier->to, frame, &location);

	return err ? err : profile_add_stack(copier->to, *stack, location, stack);
}

/* The levels of one location: the function, then what was inlined into it. */
static int copy_location(struct copier *copier, uint32_t id, uint32_t *stack)
{
	const struct location *location = profile_get_location(copier->from, id);
	struct frame frame = {0};
	int err = 0;

	for (uint32_t i = location->num_frames; !err && i-- > 0;) {
		frame = *profile_get_frame(copier->from, location->first_frame + i);
		err = copy_string(copier, &frame.name);
		if (!err)
			err = copy_string(copier, &frame.full_name);
		if (!err)
			err = copy_string(copier, &frame.module);
		if (!err)
			err = copy_string(copier, &frame.file);
		if (!err)
			err = add_level(copier, &frame, stack);
	}
	if (location->num_frames)
		return err;
	err = profile_add_string(copier->to, UNKNOWN_NAME, &frame.name);
	frame.full_name = frame.name;
	return err ? err : add_level(copier, &frame, stack);
}

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

static int copy_moments(struct copier *copier)
{
	const struct moments *moments = profile_get_moments(copier->from);
	size_t count = moments ? moments_count(moments) : 0;
	int err = moments ? profile_keep_moments(copier->to) : 0;

	for (size_t i = 0; !err && i < count; i++) {
		const struct moment *moment = moments_get(moments, i);
		const struct sample *sample = profile_get_sample(copier->from, moment->sample);

		if (copier->threads[sample->thread] == NOT_COPIED)
			continue;
		err = profile_add_moment(copier->to, copier->threads[sample->thread],
					 copier->stacks[sample->stack], sample->metric,
					 moment->weight, moment->time_ns);
	}
	for (uint32_t i = 0; !err && moments && i <= profile_count_sources(copier->from); i++) {
		uint64_t zero_ns;

		if (moments_find_clock(moments, i, &zero_ns))
			err = profile_set_clock(copier->to, i, zero_ns);
	}
	return err;
}

static int copy_samples(struct copier *copier)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_samples(copier->from); i++) {
		const struct sample *sample = profile_get_sample(copier->from, i);
		uint32_t source = profile_get_thread(copier->from, sample->thread)->source;
		uint32_t thread;
		uint32_t stack;

		if (copier->is_left_out && copier->is_left_out[source])
			continue;
		err = copy_thread(copier, sample->thread, &thread);
		if (!err)
			err = copy_stack(copier, sample->stack, &stack);
		if (!err)
			err = profile_add_sample(copier->to, thread, stack, sample->metric,
						 sample->value);
	}
	return err;
}

/* All NOT_COPIED; NULL when out of memory. */
static uint32_t *make_map(uint32_t count)
{
	uint32_t *map = malloc(((size_t)count + 1) * sizeof(*map));

	for (uint32_t i = 0; map && i < count; i++)
		map[i] = NOT_COPIED;
	return map;
}

int named_profile_copy_without(const struct profile *profile, const uint8_t *is_left_out,
			       struct profile **ret)
{
	struct copier copier = {
		.is_left_out = is_left_out,
		.from = profile,
		.to = profile_new(),
		.stacks = make_map(profile_count_stacks(profile)),
		.threads = make_map(profile_count_threads(profile)),
		.processes = make_map(profile_count_processes(profile)),
	};
	int err = -ENOMEM;

	if (copier.to && copier.stacks && copier.threads && copier.processes) {
		copier.stacks[STACK_EMPTY] = STACK_EMPTY;
		err = copy_metrics(&copier);
	}
	if (!err)
		err = copy_sources(&copier);
	if (!err)
		err = copy_samples(&copier);
	if (!err)
		err = copy_moments(&copier);
	free(copier.stacks);
	free(copier.threads);
	free(copier.processes);
	array_release(&copier.path);
	if (err)
		profile_free(copier.to);
	else
		*ret = copier.to;
	return err;
}

int named_profile_copy(const struct profile *profile, struct profile **ret)
{
	return named_profile_copy_without(profile, NULL, ret);
}
