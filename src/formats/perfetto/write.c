/*
 * Perfetto traces: what ui.perfetto.dev and trace_processor open.
 *
 * A trace is a list of packets, written as they come: memory goes to what packets refer to (names,
 * stacks), not to the packets. Each kind of data has a sequence of its own, with its own interned
 * names, and the sequences follow one another in the file:
 *
 *	write_sched.c     clocks and kernel, which readers need first; scheduling
 *	write_kwork.c     interrupts and other work of the kernel
 *	write_tracks.c    processes and threads; other tracks before their first use;
 *	                  write_groups.c says which processes are shown as one
 *	write_samples.c   samples, with write_stacks.c for what they refer to
 *	write_events.c    zones, occupancies, counters, with write_names.c for their names; waits, with
 *	                  stacks as samples have them
 *
 * write_stream.c encodes packets and passes them on. write_zones.c writes a trace of zones that do
 * not fit into memory, without a timeline of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/perfetto/perfetto.h"
#include "formats/perfetto/write_events.h"
#include "formats/perfetto/write_kwork.h"
#include "formats/perfetto/write_samples.h"
#include "formats/perfetto/write_sched.h"
#include "formats/perfetto/write_stream.h"
#include "formats/perfetto/write_tracks.h"

static int write_timeline(const struct profile *profile, const struct timeline *timeline,
			  struct perfetto_stream *stream)
{
	_cleanup_(perfetto_tracks_freep) struct perfetto_tracks *tracks =
		perfetto_tracks_new(timeline, stream);
	_cleanup_(perfetto_stacks_freep) struct perfetto_stacks *stacks = NULL;
	int err;

	if (!tracks)
		return -ENOMEM;
	err = perfetto_tracks_group(tracks);
	if (err)
		return err;
	err = perfetto_write_system(timeline, stream);
	if (err)
		return err;
	err = perfetto_tracks_describe_threads(tracks);
	if (err)
		return err;
	err = perfetto_write_sched(timeline, stream);
	if (err)
		return err;
	err = perfetto_write_kwork(timeline, stream);
	if (err)
		return err;
	err = perfetto_stacks_new(profile, timeline, stream, &stacks);
	if (err)
		return err;
	err = perfetto_write_samples(profile, timeline, tracks, stacks, stream);
	if (err)
		return err;
	err = perfetto_write_events(profile, timeline, tracks, stacks, stream);
	if (err)
		return err;
	return perfetto_stream_finish(stream);
}

/* ---- a profile without times -------------------------------------------------------------- */

/*
 * Nobody knows when these samples were taken: they come one after another, a nanosecond apart, so
 * that flame graphs are right and nothing else pretends to be.
 *
 * Those of a thread come together, and the threads of a process: a pid and a tid may be that of several, after an exec or with
 * another name, and to readers are those that the time says.
 */
struct untimed {
	const struct profile *profile;
	uint32_t *order;      /* of samples */
	uint64_t *process_ns; /* when each begins */
	uint64_t *thread_ns;
};

static void untimed_release(struct untimed *untimed)
{
	free(untimed->order);
	free(untimed->process_ns);
	free(untimed->thread_ns);
}

static uint32_t get_process(const struct profile *profile, const struct sample *sample)
{
	return profile_get_thread(profile, sample->thread)->process;
}

static int compare_owners(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;
	const struct sample *left_sample = profile_get_sample(profile, left);
	const struct sample *right_sample = profile_get_sample(profile, right);
	uint32_t left_process = get_process(profile, left_sample);
	uint32_t right_process = get_process(profile, right_sample);

	if (left_process != right_process)
		return left_process < right_process ? -1 : 1;
	if (left_sample->thread != right_sample->thread)
		return left_sample->thread < right_sample->thread ? -1 : 1;
	return (left > right) - (left < right);
}

/* From 1: 0 is no time. Whoever has no sample begins behind all of them. */
static void set_begins(struct untimed *untimed, uint32_t num_samples)
{
	const struct profile *profile = untimed->profile;

	for (uint32_t i = 0; i < profile_count_processes(profile); i++)
		untimed->process_ns[i] = num_samples + 1ull;
	for (uint32_t i = 0; i < profile_count_threads(profile); i++)
		untimed->thread_ns[i] = num_samples + 1ull;
	for (uint32_t i = num_samples; i-- > 0;) {
		const struct sample *sample = profile_get_sample(profile, untimed->order[i]);

		untimed->process_ns[get_process(profile, sample)] = i + 1ull;
		untimed->thread_ns[sample->thread] = i + 1ull;
	}
}

static int untimed_init(struct untimed *untimed)
{
	const struct profile *profile = untimed->profile;
	uint32_t num_samples = profile_count_samples(profile);

	untimed->order = calloc(num_samples + 1ull, sizeof(*untimed->order));
	untimed->process_ns =
		calloc(profile_count_processes(profile) + 1ull, sizeof(*untimed->process_ns));
	untimed->thread_ns =
		calloc(profile_count_threads(profile) + 1ull, sizeof(*untimed->thread_ns));
	if (!untimed->order || !untimed->process_ns || !untimed->thread_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_samples; i++)
		untimed->order[i] = i;
	qsort_r(untimed->order, num_samples, sizeof(*untimed->order), compare_owners,
		(void *)(uintptr_t)profile);
	set_begins(untimed, num_samples);
	return 0;
}

static int copy_threads(const struct untimed *untimed, struct timeline *timeline)
{
	const struct profile *profile = untimed->profile;
	int err;

	for (uint32_t i = 0; i < profile_count_processes(profile); i++) {
		const struct process_info *info = profile_get_process(profile, i);
		struct timeline_process process = {.pid = info->pid,
						   .start_ns = untimed->process_ns[i]};

		err = timeline_add_string(timeline, profile_get_string(profile, info->comm),
					  &process.name);
		if (err)
			return err;
		err = timeline_add_process(timeline, &process, NULL);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < profile_count_threads(profile); i++) {
		const struct thread *info = profile_get_thread(profile, i);
		struct timeline_thread thread = {.process = info->process,
						 .tid = info->tid,
						 .start_ns = untimed->thread_ns[i]};

		err = timeline_add_string(timeline, profile_get_string(profile, info->comm),
					  &thread.name);
		if (err)
			return err;
		err = timeline_add_thread(timeline, &thread, NULL);
		if (err)
			return err;
	}
	return 0;
}

static int copy_samples(const struct untimed *untimed, struct timeline *timeline)
{
	for (uint32_t i = 0; i < profile_count_samples(untimed->profile); i++) {
		const struct sample *sample =
			profile_get_sample(untimed->profile, untimed->order[i]);
		struct timeline_sample timed = {
			.time_ns = i + 1ull,
			.weight = sample->value,
			.thread = sample->thread,
			.stack = sample->stack,
			.metric = (uint8_t)sample->metric,
		};
		int err;

		if (sample->metric >= PERFETTO_MAX_METRICS)
			continue; /* the command has warned */
		err = timeline_add_sample(timeline, &timed, NULL);
		if (err)
			return err;
	}
	return 0;
}

static int write_profile(const struct profile *profile, struct perfetto_stream *stream)
{
	_cleanup_(timeline_freep) struct timeline *timeline = timeline_new();
	_cleanup_(untimed_release) struct untimed untimed = {.profile = profile};
	int err = timeline ? untimed_init(&untimed) : -ENOMEM;

	if (err)
		return err;
	err = copy_threads(&untimed, timeline);
	if (err)
		return err;
	err = copy_samples(&untimed, timeline);
	return err ? err : write_timeline(profile, timeline, stream);
}

static int write_any(const struct profile *profile, const struct format_opts *opts,
		     struct perfetto_stream *stream)
{
	bool has_times = opts->timeline && !timeline_is_empty(opts->timeline);

	if (!has_times && profile_count_samples(profile))
		return write_profile(profile, stream);
	if (opts->timeline)
		return write_timeline(profile, opts->timeline, stream);
	return perfetto_stream_finish(stream);
}

int perfetto_write(const struct profile *profile, const struct format_opts *opts,
		   const struct sink *sink)
{
	_cleanup_(perfetto_stream_freep) struct perfetto_stream *stream =
		perfetto_stream_new(sink, opts->is_compressed);
	int err = stream ? write_any(profile, opts, stream) : -ENOMEM;

	if (!err && opts->ret_num_events)
		*opts->ret_num_events = perfetto_stream_get_event_count(stream);
	return err;
}
