/*
 * Perfetto traces: what ui.perfetto.dev and trace_processor open.
 *
 * A trace is a sequence of packets, written as they come: memory goes to what packets refer to
 * (names, stacks), not to the packets. The parts are in perfetto_*.c: threads and tracks, events on
 * tracks, scheduling, samples.
 */
#include <errno.h>

#include "formats/perfetto/write_events.h"
#include "formats/perfetto/write_samples.h"
#include "formats/perfetto/write_sched.h"
#include "formats/perfetto/write_stream.h"
#include "formats/perfetto/write_tracks.h"
#include "formats/perfetto_reader.h"

static int write_timeline(const struct profile *profile, const struct timeline *timeline,
			  struct perfetto_stream *stream)
{
	struct perfetto_tracks *tracks = perfetto_tracks_new(timeline, stream);
	int err = tracks ? perfetto_write_system(timeline, stream) : -ENOMEM;

	if (!err)
		err = perfetto_tracks_describe_threads(tracks);
	if (!err)
		err = perfetto_write_sched(timeline, stream);
	if (!err)
		err = perfetto_write_samples(profile, timeline, tracks, stream);
	if (!err)
		err = perfetto_write_events(timeline, tracks, stream);
	perfetto_tracks_free(tracks);
	return err ? err : perfetto_stream_finish(stream);
}

/* ---- a profile without times -------------------------------------------------------------- */

static int copy_threads(const struct profile *profile, struct timeline *timeline)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_processes(profile); i++) {
		const struct process_info *info = profile_get_process(profile, i);
		struct timeline_process process = {.pid = info->pid};

		err = timeline_add_string(timeline, profile_get_string(profile, info->comm),
					  &process.name);
		if (!err)
			err = timeline_add_process(timeline, &process, NULL);
	}
	for (uint32_t i = 0; !err && i < profile_count_threads(profile); i++) {
		const struct thread *info = profile_get_thread(profile, i);
		struct timeline_thread thread = {.process = info->process, .tid = info->tid};

		err = timeline_add_string(timeline, profile_get_string(profile, info->comm),
					  &thread.name);
		if (!err)
			err = timeline_add_thread(timeline, &thread, NULL);
	}
	return err;
}

/*
 * Nobody knows when these samples were taken: they come one after another, a nanosecond apart, so
 * that flame graphs are right and nothing else pretends to be.
 */
static int write_profile(const struct profile *profile, struct perfetto_stream *stream)
{
	struct timeline *timeline = timeline_new();
	int err = timeline ? copy_threads(profile, timeline) : -ENOMEM;

	for (uint32_t i = 0; !err && i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		struct timeline_sample timed = {
			.time_ns = i + 1ull,
			.weight = sample->value,
			.thread = sample->thread,
			.stack = sample->stack,
			.metric = (uint8_t)sample->metric,
		};

		if (sample->metric <= UINT8_MAX)
			err = timeline_add_sample(timeline, &timed, NULL);
	}
	if (!err)
		err = write_timeline(profile, timeline, stream);
	timeline_free(timeline);
	return err;
}

static int write_pftrace(const struct profile *profile, const struct format_opts *opts,
			 const struct sink *sink)
{
	struct perfetto_stream *stream = perfetto_stream_new(sink, opts->is_compressed);
	bool has_times = opts->timeline && !timeline_is_empty(opts->timeline);
	int err = -ENOMEM;

	if (stream && !has_times && profile_count_samples(profile))
		err = write_profile(profile, stream);
	else if (stream)
		err = opts->timeline ? write_timeline(profile, opts->timeline, stream)
				     : perfetto_stream_finish(stream);
	perfetto_stream_free(stream);
	return err;
}

const struct format format_pftrace = {
	.name = "pftrace",
	.extension = ".pftrace",
	.summary = "a trace for Perfetto: what happened when, on which thread and stack",
	.has_times = true,
	.write = write_pftrace,
	.detect = perfetto_detect,
	.read = perfetto_read,
};
