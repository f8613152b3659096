/*
 * Perfetto traces: the format of ui.perfetto.dev and trace_processor.
 *
 * A trace is a list of packets, written as they are made: memory is needed for referenced items
 * (names, stacks), not for the packets. Each kind of data has a sequence of its own, with its own
 * interned names, and the sequences follow one another in the file:
 *
 *	write/sched.c     clocks and kernel, which readers need first; scheduling
 *	write/kwork.c     interrupts and other work of the kernel
 *	write/tracks.c    processes and threads; other tracks before their first use;
 *	                  write/groups.c decides which processes are shown as one
 *	write/samples.c   samples, with write/stacks.c for their stacks
 *	write/events.c    zones, occupancies, counters, with write/names.c for their names; waits, with
 *	                  stacks as samples have them
 *
 * write/stream.c encodes packets and passes them on. write/zones.c writes a trace of zones that do
 * not fit into memory, without a timeline of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/intern.h"
#include "formats/perfetto/perfetto.h"
#include "formats/perfetto/write/events.h"
#include "formats/perfetto/write/kwork.h"
#include "formats/perfetto/write/samples.h"
#include "formats/perfetto/write/sched.h"
#include "formats/perfetto/write/stream.h"
#include "formats/perfetto/write/tracks.h"

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

/* ---- a profile without a timeline --------------------------------------------------------- */

/* The weight of a sample at one time. */
struct sample_part {
	uint64_t time_ns;
	uint64_t weight;
	uint32_t sample; /* of the profile */
};

/*
 * If the times of samples are known, they are those of the trace; if no times are known, all are
 * the same. Samples of one time follow one another, a nanosecond apart, so that flame graphs are
 * right and nothing else pretends to be.
 *
 * Then samples of a thread are adjacent, and so are threads of a process: after an exec or a
 * rename, several processes share a pid and several threads a tid, and readers tell them apart by
 * time. Whenever another one of a number has a sample, it starts in the trace.
 */
struct shown_process {
	uint32_t pid;
	uint32_t process; /* of the profile: the last one of this pid; UINT32_MAX: none yet */
	uint32_t id;      /* of the timeline */
};
INTERN_TABLE(shown_processes, struct shown_process, pid);

struct shown_thread {
	uint32_t process; /* of the timeline */
	uint32_t tid;
	uint32_t thread; /* of the profile: the last one of this tid; UINT32_MAX: none yet */
	uint32_t id;     /* of the timeline */
};
INTERN_TABLE(shown_threads, struct shown_thread, process, tid);

struct sample_parts {
	const struct profile *profile;
	struct timeline *timeline;
	ARRAY(struct sample_part) items; /* in the order of time */
	struct shown_processes processes;
	struct shown_threads threads;
};

static void sample_parts_release(struct sample_parts *parts)
{
	array_release(&parts->items);
	shown_processes_release(&parts->processes);
	shown_threads_release(&parts->threads);
}

static uint32_t get_process(const struct profile *profile, const struct sample *sample)
{
	return profile_get_thread(profile, sample->thread)->process;
}

static int compare_owners(const struct profile *profile, uint32_t left, uint32_t right)
{
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

static int compare_parts(const void *a, const void *b, void *context)
{
	const struct sample_part *left = a;
	const struct sample_part *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return compare_owners(context, left->sample, right->sample);
}

static int add_part(struct sample_parts *parts, uint32_t sample, uint64_t time_ns, uint64_t weight)
{
	struct sample_part *added = array_add(&parts->items);

	if (!added)
		return -ENOMEM;
	*added = (struct sample_part){time_ns, weight, sample};
	return 0;
}

/* From 1: 0 means no time. */
static int add_timed_parts(struct sample_parts *parts, const struct timestamps *times,
			   uint64_t *rests)
{
	for (size_t i = 0; i < timestamps_count(times); i++) {
		const struct timestamp *time = timestamps_get(times, i);
		uint64_t end_ns = timestamps_get_end_ns(times, time);
		int err = add_part(parts, time->sample, end_ns ? end_ns : 1, time->weight);

		if (err)
			return err;
		rests[time->sample] -=
			time->weight < rests[time->sample] ? time->weight : rests[time->sample];
	}
	return 0;
}

/* Weight without a time is first, and so are samples of weight 0. */
static int add_parts(struct sample_parts *parts, const struct timestamps *times)
{
	const struct profile *profile = parts->profile;
	uint32_t num_samples = profile_count_samples(profile);
	_cleanup_free_ uint64_t *rests = calloc(num_samples + 1ull, sizeof(*rests));
	int err;

	if (!rests)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_samples; i++)
		rests[i] = profile_get_sample(profile, i)->value;
	err = times ? add_timed_parts(parts, times, rests) : 0;
	if (err)
		return err;
	for (uint32_t i = 0; i < num_samples; i++) {
		if (!rests[i] && profile_get_sample(profile, i)->value)
			continue;
		err = add_part(parts, i, 1, rests[i]);
		if (err)
			return err;
	}
	return 0;
}

static int sample_parts_init(struct sample_parts *parts)
{
	const struct profile *profile = parts->profile;
	uint64_t last_ns = 0;
	int err = add_parts(parts, profile_get_times_of_one_clock(profile));

	if (err)
		return err;
	if (parts->items.length)
		qsort_r(parts->items.items, parts->items.length, sizeof(*parts->items.items),
			compare_parts, (void *)(uintptr_t)profile);
	array_for_each (&parts->items, part) {
		if (part->time_ns <= last_ns)
			part->time_ns = last_ns + 1;
		last_ns = part->time_ns;
	}
	return 0;
}

/* number  of the profile */
static int start_process(struct sample_parts *parts, uint32_t number, uint64_t time_ns,
			 uint32_t *ret)
{
	const struct process_info *info = profile_get_process(parts->profile, number);
	struct timeline_process process = {.pid = info->pid, .start_ns = time_ns};
	struct shown_process *shown;
	uint32_t found;
	int err = shown_processes_intern(
		&parts->processes, &(struct shown_process){.pid = info->pid, .process = UINT32_MAX},
		&found);

	if (err)
		return err;
	shown = &parts->processes.items[found];
	*ret = shown->id;
	if (shown->process == number)
		return 0;
	err = timeline_add_string(parts->timeline, profile_get_string(parts->profile, info->comm),
				  &process.name);
	if (err)
		return err;
	shown->process = number;
	err = timeline_add_process(parts->timeline, &process, &shown->id);
	*ret = shown->id;
	return err;
}

/* number  of the profile */
static int start_thread(struct sample_parts *parts, uint32_t number, uint64_t time_ns,
			uint32_t *ret)
{
	const struct thread *info = profile_get_thread(parts->profile, number);
	struct timeline_thread thread = {.tid = info->tid, .start_ns = time_ns};
	struct shown_thread *shown;
	uint32_t found;
	int err = start_process(parts, info->process, time_ns, &thread.process);

	if (err)
		return err;
	err = shown_threads_intern(&parts->threads,
				   &(struct shown_thread){.process = thread.process,
							  .tid = info->tid,
							  .thread = UINT32_MAX},
				   &found);
	if (err)
		return err;
	shown = &parts->threads.items[found];
	*ret = shown->id;
	if (shown->thread == number)
		return 0;
	err = timeline_add_string(parts->timeline, profile_get_string(parts->profile, info->comm),
				  &thread.name);
	if (err)
		return err;
	shown->thread = number;
	err = timeline_add_thread(parts->timeline, &thread, &shown->id);
	*ret = shown->id;
	return err;
}

static int copy_samples(struct sample_parts *parts)
{
	array_for_each (&parts->items, part) {
		const struct sample *sample = profile_get_sample(parts->profile, part->sample);
		struct timeline_sample timed = {
			.time_ns = part->time_ns,
			.weight = part->weight,
			.stack = sample->stack,
			.metric = (uint8_t)sample->metric,
		};
		int err = start_thread(parts, sample->thread, part->time_ns, &timed.thread);

		if (err)
			return err;
		if (sample->metric >= PERFETTO_MAX_METRICS)
			continue; /* the command has warned */
		err = timeline_add_sample(parts->timeline, &timed, NULL);
		if (err)
			return err;
	}
	return 0;
}

/* They start after the last sample. */
static int copy_threads_without_samples(struct sample_parts *parts)
{
	const struct profile *profile = parts->profile;
	_cleanup_free_ bool *has_samples =
		calloc(profile_count_threads(profile) + 1ull, sizeof(*has_samples));
	size_t count = parts->items.length;
	uint64_t end_ns = count ? parts->items.items[count - 1].time_ns + 1 : 1;

	if (!has_samples)
		return -ENOMEM;
	array_for_each (&parts->items, part)
		has_samples[profile_get_sample(profile, part->sample)->thread] = true;
	for (uint32_t i = 0; i < profile_count_threads(profile); i++) {
		uint32_t ignored;
		int err = has_samples[i] ? 0 : start_thread(parts, i, end_ns, &ignored);

		if (err)
			return err;
	}
	return 0;
}

static int write_profile(const struct profile *profile, struct perfetto_stream *stream)
{
	_cleanup_(timeline_freep) struct timeline *timeline = timeline_new();
	_cleanup_(sample_parts_release) struct sample_parts parts = {.profile = profile,
								     .timeline = timeline};
	int err = timeline ? sample_parts_init(&parts) : -ENOMEM;

	if (err)
		return err;
	err = copy_samples(&parts);
	if (err)
		return err;
	err = copy_threads_without_samples(&parts);
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
