#include "profile/copier.h"

#include <errno.h>
#include <string.h>

static uint32_t *make_map(uint32_t count)
{
	size_t size = ((size_t)count + 1) * sizeof(uint32_t);
	uint32_t *ids = malloc(size);

	return ids ? memset(ids, 0xff, size) : NULL; /* COPIER_NONE */
}

int profile_copier_init(struct profile_copier *copier, struct profile *to,
			const struct profile *from)
{
	*copier = (struct profile_copier){
		.from = from,
		.to = to,
		.strings = make_map(profile_count_strings(from)),
		.names = make_map(profile_count_strings(from)),
		.sources = make_map(profile_count_sources(from)),
		.processes = make_map(profile_count_processes(from)),
		.threads = make_map(profile_count_threads(from)),
		.metrics = make_map(profile_count_metrics(from)),
		.stacks = make_map(profile_count_stacks(from)),
	};
	if (!copier->strings || !copier->names || !copier->sources || !copier->processes ||
	    !copier->threads || !copier->metrics || !copier->stacks)
		return -ENOMEM;
	copier->stacks[STACK_EMPTY] = STACK_EMPTY;
	return 0;
}

void profile_copier_release(struct profile_copier *copier)
{
	free(copier->strings);
	free(copier->names);
	free(copier->sources);
	free(copier->processes);
	free(copier->threads);
	free(copier->metrics);
	free(copier->stacks);
	text_release(&copier->text);
	array_release(&copier->path);
}

/* ---- items with names --------------------------------------------------------------------- */

int profile_copier_copy_string(struct profile_copier *copier, uint32_t *string)
{
	uint32_t *known = &copier->strings[*string];

	if (*known == COPIER_NONE) {
		int err = profile_copy_string(copier->from, *string,
					      profile_get_strings(copier->to), known);

		if (err)
			return err;
	}
	*string = *known;
	return 0;
}

/* The name of a function or thread. */
static int copy_name(struct profile_copier *copier, uint32_t *name)
{
	uint32_t *known = &copier->names[*name];
	struct text *text = &copier->text;
	int err;

	if (!copier->change_name)
		return profile_copier_copy_string(copier, name);
	if (*known == COPIER_NONE) {
		text_truncate(text, 0);
		text_append_string(text, "");
		copier->change_name(text, profile_get_string(copier->from, *name),
				    profile_get_string_length(copier->from, *name));
		if (text->failed)
			return -ENOMEM;
		err = string_table_add(profile_get_strings(copier->to), text->data, text->length,
				       known);
		if (err)
			return err;
	}
	*name = *known;
	return 0;
}

int profile_copier_copy_frame(struct profile_copier *copier, uint32_t frame, struct frame *ret)
{
	int err;

	*ret = *profile_get_frame(copier->from, frame);
	err = copy_name(copier, &ret->name);
	if (err)
		return err;
	err = copy_name(copier, &ret->full_name);
	if (err)
		return err;
	err = profile_copier_copy_string(copier, &ret->module);
	if (err)
		return err;
	return profile_copier_copy_string(copier, &ret->file);
}

/* The command of a process is changed like that of its threads. */
int profile_copier_copy_process(struct profile_copier *copier, uint32_t process)
{
	struct process_info info = *profile_get_process(copier->from, process);
	uint32_t *copied = &copier->processes[process];
	int err;

	if (*copied != COPIER_NONE)
		return 0;
	err = copy_name(copier, &info.comm);
	if (err)
		return err;
	err = profile_add_process(copier->to, info.pid, info.comm, copied);
	if (err || info.script == STRING_EMPTY)
		return err;
	err = copy_name(copier, &info.script);
	if (err)
		return err;
	profile_set_process_script(copier->to, *copied, info.script);
	return 0;
}

int profile_copier_copy_thread(struct profile_copier *copier, uint32_t thread)
{
	struct thread copy;
	int err;

	if (copier->threads[thread] != COPIER_NONE)
		return 0;
	copy = *profile_get_thread(copier->from, thread);
	err = profile_copier_copy_process(copier, copy.process);
	if (err)
		return err;
	copy.process = copier->processes[copy.process];
	if (copier->sources[copy.source] != COPIER_NONE)
		copy.source = copier->sources[copy.source];
	err = copy_name(copier, &copy.comm);
	if (err)
		return err;
	return profile_add_thread(copier->to, &copy, &copier->threads[thread]);
}

int profile_copier_copy_metrics(struct profile_copier *copier)
{
	for (uint32_t i = 0; i < profile_count_metrics(copier->from); i++) {
		const struct metric *metric = profile_get_metric(copier->from, i);
		int err = profile_add_metric(
			copier->to, profile_get_string(copier->from, metric->name),
			profile_get_string(copier->from, metric->unit), &copier->metrics[i]);

		if (err)
			return err;
	}
	return 0;
}

int profile_copier_copy_sources(struct profile_copier *copier)
{
	const struct provenance *from = profile_get_provenance(copier->from);
	int err;

	for (uint32_t i = 0; i < profile_count_sources(copier->from); i++) {
		uint32_t name = profile_get_source(copier->from, i);
		uint32_t label = provenance_get_label(from, i);

		err = profile_copier_copy_string(copier, &name);
		if (err)
			return err;
		err = profile_copier_copy_string(copier, &label);
		if (err)
			return err;
		err = profile_add_source(copier->to, name, &copier->sources[i]);
		if (err)
			return err;
		provenance_set_label(profile_get_provenance(copier->to), copier->sources[i], label);
	}
	return 0;
}

uint32_t profile_copier_get_source(const struct profile_copier *copier, uint32_t source)
{
	return copier->sources[source] == COPIER_NONE ? 0 : copier->sources[source];
}

int profile_copier_copy_tally(struct profile_copier *copier, const struct tally *tally)
{
	uint32_t name = tally->name;
	int err = profile_copier_copy_string(copier, &name);

	if (err)
		return err;
	return provenance_add_tally(profile_get_provenance(copier->to),
				    profile_copier_get_source(copier, tally->source), name,
				    tally->count);
}

/* ---- samples and times -------------------------------------------------------------------- */

/* Up to the nearest caller that was copied before, and then down again. */
static int copy_stack(struct profile_copier *copier, uint32_t stack)
{
	uint32_t copied;

	copier->path.length = 0;
	while (copier->stacks[stack] == COPIER_NONE) {
		uint32_t *added = array_add(&copier->path);

		if (!added)
			return -ENOMEM;
		*added = stack;
		stack = profile_get_stack_parent(copier->from, stack);
	}
	copied = copier->stacks[stack];
	while (copier->path.length) {
		int err;

		stack = copier->path.items[--copier->path.length];
		err = copier->add_location(copier, profile_get_stack_location(copier->from, stack),
					   &copied);
		if (err)
			return err;
		copier->stacks[stack] = copied;
	}
	return 0;
}

static bool is_copied(const struct profile_copier *copier, const struct sample *sample)
{
	if (copier->metrics[sample->metric] == COPIER_NONE)
		return false;
	return !copier->is_left_out ||
	       !copier->is_left_out[profile_get_thread(copier->from, sample->thread)->source];
}

static int copy_sample(struct profile_copier *copier, const struct sample *sample)
{
	int err = profile_copier_copy_thread(copier, sample->thread);

	if (err)
		return err;
	err = copy_stack(copier, sample->stack);
	if (err)
		return err;
	return profile_add_sample(copier->to, copier->threads[sample->thread],
				  copier->stacks[sample->stack], copier->metrics[sample->metric],
				  sample->value);
}

/*
 * Each stack was added as one sample; replace the counts by the sums of both profiles' counts.
 *
 * before      counts by metric of `to`
 * is_partial  by metric of `from`: samples were left out
 */
static void set_sample_counts(struct profile_copier *copier, const uint64_t *before,
			      const uint8_t *is_partial)
{
	uint32_t num_metrics = profile_count_metrics(copier->from);

	for (uint32_t i = 0; i < num_metrics; i++)
		if (copier->metrics[i] != COPIER_NONE && !is_partial[i])
			profile_set_metric_samples(copier->to, copier->metrics[i],
						   before[copier->metrics[i]]);
	for (uint32_t i = 0; i < num_metrics; i++) {
		uint64_t count = profile_get_metric(copier->from, i)->num_samples;
		uint32_t to = copier->metrics[i];

		if (to == COPIER_NONE || is_partial[i])
			continue;
		if (__builtin_add_overflow(count, profile_get_metric(copier->to, to)->num_samples,
					   &count))
			count = UINT64_MAX;
		profile_set_metric_samples(copier->to, to, count);
	}
}

int profile_copier_copy_samples(struct profile_copier *copier)
{
	uint32_t num_metrics = profile_count_metrics(copier->to);
	_cleanup_free_ uint64_t *before = calloc((size_t)num_metrics + 1, sizeof(*before));
	_cleanup_free_ uint8_t *is_partial =
		calloc((size_t)profile_count_metrics(copier->from) + 1, sizeof(*is_partial));

	if (!before || !is_partial)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_metrics; i++)
		before[i] = profile_get_metric(copier->to, i)->num_samples;
	for (uint32_t i = 0; i < profile_count_samples(copier->from); i++) {
		const struct sample *sample = profile_get_sample(copier->from, i);
		int err;

		if (!is_copied(copier, sample)) {
			is_partial[sample->metric] = true;
			continue;
		}
		err = copy_sample(copier, sample);
		if (err)
			return err;
	}
	set_sample_counts(copier, before, is_partial);
	return 0;
}

static int copy_clocks(struct profile_copier *copier, const struct timestamps *timestamps)
{
	uint32_t num_sources = profile_count_sources(copier->from);

	for (uint32_t i = 0; i < (num_sources ? num_sources : 1); i++) {
		uint64_t zero_ns;
		int err;

		if (!timestamps_find_clock(timestamps, i, &zero_ns))
			continue;
		err = profile_set_clock(copier->to, profile_copier_get_source(copier, i), zero_ns);
		if (err)
			return err;
	}
	return 0;
}

int profile_copier_copy_timestamps(struct profile_copier *copier)
{
	const struct timestamps *timestamps = profile_get_timestamps(copier->from);

	if (!timestamps || !profile_get_timestamps(copier->to))
		return 0;
	for (size_t i = 0; i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		const struct sample *sample = profile_get_sample(copier->from, timestamp->sample);
		int err;

		if (!is_copied(copier, sample))
			continue;
		err = profile_add_interval(
			copier->to, copier->threads[sample->thread], copier->stacks[sample->stack],
			copier->metrics[sample->metric], timestamp->weight, timestamp->time_ns,
			timestamps_get_end_ns(timestamps, timestamp));
		if (err)
			return err;
	}
	return copy_clocks(copier, timestamps);
}
