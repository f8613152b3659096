#include "collect/trace_builder.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

struct builder {
	const struct trace_source *source;
	struct timeline *timeline;
	uint32_t *processes;            /* the timeline's, by id of the recording; TIMELINE_NONE */
	uint32_t *threads;              /* the timeline's, by thread of the profile; likewise */
	struct hash_index thread_index; /* of the timeline */
};

static uint32_t *new_ids(uint32_t count)
{
	uint32_t *ids = malloc(((size_t)count + 1) * sizeof(*ids));

	if (ids)
		memset(ids, 0xff, ((size_t)count + 1) * sizeof(*ids));
	return ids;
}

/* ---- processes and threads ---------------------------------------------------------------- */

static int use_process(struct builder *builder, uint32_t id, uint32_t *ret)
{
	const struct process *process = process_table_get(builder->source->processes, id);
	struct timeline_process added = {.pid = process->pid, .start_ns = process->start_ns};
	int err;

	*ret = builder->processes[id];
	if (*ret != TIMELINE_NONE)
		return 0;
	err = timeline_add_string(builder->timeline, process->comm, &added.name);
	if (!err)
		err = timeline_add_process(builder->timeline, &added, ret);
	builder->processes[id] = *ret;
	return err;
}

static uint64_t hash_thread(const struct timeline_thread *thread)
{
	return hash_mix(thread->process, thread->tid);
}

static bool is_thread(const void *owner, uint32_t item, const void *key)
{
	const struct timeline_thread *thread = timeline_get_thread(owner, item);
	const struct timeline_thread *wanted = key;

	return thread->process == wanted->process && thread->tid == wanted->tid;
}

/* A thread that was renamed is several of the profile, but one of the timeline. */
static int use_thread(struct builder *builder, uint32_t id, uint32_t *ret)
{
	const struct thread *thread = profile_get_thread(builder->source->profile, id);
	struct timeline_thread added = {.tid = thread->tid};
	int err;

	*ret = builder->threads[id];
	if (*ret != TIMELINE_NONE)
		return 0;
	err = use_process(builder, thread->process, &added.process);
	if (err)
		return err;
	*ret = hash_index_find(&builder->thread_index, hash_thread(&added), is_thread,
			       builder->timeline, &added);
	if (*ret == HASH_INDEX_NONE) {
		err = timeline_add_thread(builder->timeline, &added, ret);
		if (!err)
			err = hash_index_add(&builder->thread_index, hash_thread(&added), *ret);
	}
	builder->threads[id] = *ret;
	return err;
}

/* The name that it had last. */
static int name_thread(struct builder *builder, uint32_t profile_thread, uint32_t thread)
{
	const struct profile *profile = builder->source->profile;
	const struct thread *info = profile_get_thread(profile, profile_thread);

	return timeline_add_string(builder->timeline, profile_get_string(profile, info->comm),
				   &timeline_get_thread(builder->timeline, thread)->name);
}

/* ---- samples ------------------------------------------------------------------------------ */

static int add_sample(struct builder *builder, const struct timed_sample *sample)
{
	struct timeline_sample added = {
		.time_ns = sample->time_ns,
		.weight = builder->source->period_ns,
		.stack = sample->stack,
		.region = TIMELINE_NONE,
		.cpu = sample->cpu,
		.mode = sample->is_in_kernel ? SAMPLE_MODE_KERNEL : SAMPLE_MODE_USER,
		.is_truncated = sample->is_truncated,
	};
	int err = use_thread(builder, sample->thread, &added.thread);

	if (!err)
		err = name_thread(builder, sample->thread, added.thread);
	return err ? err : timeline_add_sample(builder->timeline, &added, NULL);
}

static int add_samples(struct builder *builder)
{
	size_t count;
	const struct timed_sample *samples = trace_log_get_samples(builder->source->log, &count);
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = add_sample(builder, &samples[i]);
	return err;
}

int trace_builder_build(const struct trace_source *source, struct timeline *timeline)
{
	struct builder builder = {
		.source = source,
		.timeline = timeline,
		.processes = new_ids(profile_count_processes(source->profile)),
		.threads = new_ids(profile_count_threads(source->profile)),
	};
	int err = builder.processes && builder.threads ? 0 : -ENOMEM;

	if (!err)
		err = add_samples(&builder);
	free(builder.processes);
	free(builder.threads);
	hash_index_release(&builder.thread_index);
	return err;
}
