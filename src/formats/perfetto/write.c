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

static int copy_threads(const struct profile *profile, struct timeline *timeline)
{
	int err;

	for (uint32_t i = 0; i < profile_count_processes(profile); i++) {
		const struct process_info *info = profile_get_process(profile, i);
		struct timeline_process process = {.pid = info->pid};

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
		struct timeline_thread thread = {.process = info->process, .tid = info->tid};

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

/*
 * Nobody knows when these samples were taken: they come one after another, a nanosecond apart, so
 * that flame graphs are right and nothing else pretends to be.
 */
static int write_profile(const struct profile *profile, struct perfetto_stream *stream)
{
	_cleanup_(timeline_freep) struct timeline *timeline = timeline_new();
	int err;

	if (!timeline)
		return -ENOMEM;
	err = copy_threads(profile, timeline);
	if (err)
		return err;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		struct timeline_sample timed = {
			.time_ns = i + 1ull,
			.weight = sample->value,
			.thread = sample->thread,
			.stack = sample->stack,
			.metric = (uint8_t)sample->metric,
		};

		if (sample->metric >= PERFETTO_MAX_METRICS)
			continue; /* the command has warned */
		err = timeline_add_sample(timeline, &timed, NULL);
		if (err)
			return err;
	}
	return write_timeline(profile, timeline, stream);
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
