/*
 * Samples are written some thousand at a time, behind the interned data of their stacks.
 */
#include "formats/perfetto/write/samples.h"

#include <errno.h>

#include "base/utf8.h"

/* Values of enums of Perfetto's protocol: PerfEvents.Counter and Profiling.StackUnwindError. */
#define COUNTER_CPU_CLOCK        1
#define UNWIND_ERROR_INFORMATION 3

#define SAMPLES_AT_A_TIME 16384

struct perfetto_samples_writer {
	const struct profile *profile;
	const struct timeline *timeline;
	const struct perfetto_tracks *tracks;
	struct perfetto_stream *stream;
	struct perfetto_stacks *stacks;  /* borrowed */
	struct timeline_sample *samples; /* samples to write */
	size_t num_samples;
	uint32_t metric;
	bool has_started; /* the sequence of the metric */
	uint64_t state_start;
};

/* Every metric has a sequence of its own, whose defaults contain the unit of a sample's count. */
static void start_packet(const struct perfetto_samples_writer *writer,
			 Perfetto__TracePacket *packet)
{
	*packet = (Perfetto__TracePacket)PERFETTO__TRACE_PACKET__INIT;
	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = perfetto_get_sample_sequence(writer->metric);
	packet->has_sequence_flags = 1;
}

/* The event that ticked, if a recording has it; else the name of the weights. */
static void append_timebase(const struct perfetto_samples_writer *writer, struct text *text)
{
	const struct string_table *strings = timeline_get_strings(writer->timeline);
	uint32_t ticked = timeline_get_system(writer->timeline)->sample_metric;
	uint32_t name = profile_get_metric(writer->profile, writer->metric)->name;

	if (writer->metric == 0 && ticked != STRING_EMPTY)
		utf8_append(text, string_table_get(strings, ticked),
			    string_table_get_length(strings, ticked));
	else
		utf8_append(text, profile_get_string(writer->profile, name),
			    profile_get_string_length(writer->profile, name));
}

static int clear_state(struct perfetto_samples_writer *writer, bool is_first)
{
	const struct timeline_system *system = timeline_get_system(writer->timeline);
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__PerfSampleDefaults samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__PerfTimebase timebase = PERFETTO__PERF_TIMEBASE__INIT;
	_cleanup_(text_release) struct text name = {0};
	_cleanup_(text_release) struct text unit = {0};
	uint32_t metric_unit;
	Perfetto__TracePacket packet;

	perfetto_stacks_clear(writer->stacks);
	writer->state_start = perfetto_stream_get_size(writer->stream);
	start_packet(writer, &packet);
	packet.sequence_flags = PERFETTO_STATE_CLEARED;
	packet.has_first_packet_on_sequence = is_first;
	packet.first_packet_on_sequence = is_first;
	append_timebase(writer, &name);
	/*
	 * The counter is one of the protocol's list, which lacks most metrics: the name has the
	 * real one.
	 */
	/* The frequency is that of ticks only: counts of another metric are no CPU time. */
	timebase.has_frequency = writer->metric == 0 && system->sample_frequency != 0;
	timebase.frequency = system->sample_frequency;
	timebase.has_counter = 1;
	timebase.counter = COUNTER_CPU_CLOCK;
	timebase.name = name.data;
	text_append_string(&unit, "");
	metric_unit = profile_get_metric(writer->profile, writer->metric)->unit;
	utf8_append(&unit, profile_get_string(writer->profile, metric_unit),
		    profile_get_string_length(writer->profile, metric_unit));
	timebase.unit = unit.data;
	samples.timebase = &timebase;
	defaults.perf_sample_defaults = &samples;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = PERFETTO_CLOCK_OF_SEQUENCE;
	packet.trace_packet_defaults = &defaults;
	return name.failed || unit.failed ? -ENOMEM : perfetto_stream_add(writer->stream, &packet);
}

/* A sample without stack has no call stack, rather than an empty one. */
static int write_sample(struct perfetto_samples_writer *writer,
			const struct timeline_sample *sample)
{
	const struct timeline_thread *thread =
		timeline_get_thread(writer->timeline, sample->thread);
	Perfetto__PerfSample body = PERFETTO__PERF_SAMPLE__INIT;
	Perfetto__TracePacket packet;

	start_packet(writer, &packet);
	packet.sequence_flags = PERFETTO_STATE_NEEDED;
	perfetto_stream_set_time(writer->stream, &packet, sample->time_ns);
	body.has_cpu = 1;
	body.cpu = sample->cpu;
	body.has_pid = 1;
	body.pid = perfetto_tracks_get_pid(writer->tracks, thread->process);
	body.has_tid = 1;
	body.tid = perfetto_tracks_get_tid(writer->tracks, sample->thread);
	body.has_callstack_iid = sample->stack != STACK_EMPTY;
	if (body.has_callstack_iid)
		body.callstack_iid = perfetto_stacks_get_number(writer->stacks, sample->stack);
	body.has_cpu_mode = sample->mode != SAMPLE_MODE_UNKNOWN;
	body.cpu_mode = sample->mode;
	body.has_timebase_count = 1;
	body.timebase_count = sample->weight;
	body.has_unwind_error = sample->is_truncated;
	body.unwind_error = UNWIND_ERROR_INFORMATION;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE;
	packet.perf_sample = &body;
	return perfetto_stream_add(writer->stream, &packet);
}

/* Write the collected samples, and start the state again when it has become large. */
static int flush(struct perfetto_samples_writer *writer)
{
	uint64_t size = perfetto_stream_get_size(writer->stream) - writer->state_start;
	int err;

	/*
	 * Stacks are emitted before the samples that have them, so that the state can be cleared only
	 * here, between two batches.
	 */
	if (!writer->has_started || size >= PERFETTO_STATE_BYTES) {
		err = clear_state(writer, !writer->has_started);
		if (err)
			return err;
	}
	writer->has_started = true;
	for (size_t i = 0; i < writer->num_samples; i++) {
		err = perfetto_stacks_use(writer->stacks, writer->samples[i].stack);
		if (err)
			return err;
	}
	err = perfetto_stacks_emit(writer->stacks, perfetto_get_sample_sequence(writer->metric));
	if (err)
		return err;
	for (size_t i = 0; i < writer->num_samples; i++) {
		err = write_sample(writer, &writer->samples[i]);
		if (err)
			return err;
	}
	writer->num_samples = 0;
	return 0;
}

static int write_metric(struct perfetto_samples_writer *writer, uint32_t metric)
{
	struct timeline_sample sample;
	uint64_t position = 0;
	int got;

	writer->metric = metric;
	writer->has_started = false;
	while ((got = timeline_next_sample(writer->timeline, &position, &sample)) > 0) {
		if (sample.metric != metric)
			continue;
		writer->samples[writer->num_samples++] = sample;
		if (writer->num_samples == SAMPLES_AT_A_TIME) {
			int err = flush(writer);

			if (err)
				return err;
		}
	}
	if (got < 0)
		return got;
	return writer->num_samples ? flush(writer) : 0;
}

static void samples_writer_release(struct perfetto_samples_writer *writer)
{
	free(writer->samples);
}

int perfetto_write_samples(const struct profile *profile, const struct timeline *timeline,
			   const struct perfetto_tracks *tracks, struct perfetto_stacks *stacks,
			   struct perfetto_stream *stream)
{
	_cleanup_(samples_writer_release) struct perfetto_samples_writer writer = {
		.profile = profile,
		.timeline = timeline,
		.tracks = tracks,
		.stream = stream,
		.stacks = stacks,
		.samples = malloc(SAMPLES_AT_A_TIME * sizeof(*writer.samples)),
	};
	uint32_t num_metrics = profile_count_metrics(profile);

	if (!writer.samples)
		return -ENOMEM;
	if (num_metrics > PERFETTO_MAX_METRICS)
		num_metrics = PERFETTO_MAX_METRICS;
	for (uint32_t metric = 0; metric < num_metrics; metric++) {
		int err = write_metric(&writer, metric);

		if (err)
			return err;
	}
	return 0;
}
