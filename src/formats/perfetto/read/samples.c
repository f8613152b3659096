/*
 * Reading Perfetto traces: samples with stacks.
 *
 * Our own contain their weights. In a recording that is time, while a profile counts samples and
 * has the time of a sample only once. In other traces the same field is mostly a running counter,
 * so their samples weigh one each.
 */
#include "formats/perfetto/read/samples.h"

#include <errno.h>

/* In one trace. */
#define MAX_METRICS 256

#define UNWIND_ERROR_NONE 1

enum perf_sample_field {
	SAMPLE_CPU = 1,
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_CALLSTACK = 4,
	SAMPLE_CPU_MODE = 5,
	SAMPLE_WEIGHT = 6,
	SAMPLE_UNWIND_ERROR = 16,
	SAMPLE_RECORDS_LOST = 17,
	SAMPLE_SKIPPED_REASON = 18,
	NUM_SAMPLE_FIELDS = 19,
};

enum timebase_field { TIMEBASE_FREQUENCY = 2, TIMEBASE_NAME = 10, TIMEBASE_UNIT = 1000 };

int perfetto_read_sample_defaults(struct perfetto_trace *trace, struct perfetto_sequence *sequence,
				  struct bytes message)
{
	struct protobuf_field field;
	struct bytes timebase = {0};
	int err = 0;

	while (protobuf_next(&message, &field))
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			timebase = field.body;
	while (protobuf_next(&timebase, &field)) {
		if (field.type == PROTOBUF_VARINT && field.number == TIMEBASE_FREQUENCY)
			sequence->frequency = (uint32_t)field.value;
		if (field.type != PROTOBUF_BYTES)
			continue;
		if (field.number == TIMEBASE_NAME) {
			err = perfetto_add_profile_string(trace, field.body,
							  &sequence->metric_name);
		} else if (field.number == TIMEBASE_UNIT) {
			err = perfetto_add_profile_string(trace, field.body,
							  &sequence->metric_unit);
			sequence->is_ours = true;
		}
		if (err)
			return err;
	}
	return 0;
}

static bool is_recording(const struct perfetto_sequence *sequence)
{
	return sequence->is_ours && sequence->frequency;
}

/* So that the timeline is written as it was read. */
static int keep_frequency(struct perfetto_samples *samples,
			  const struct perfetto_sequence *sequence)
{
	const struct profile *profile = samples->trace->import->profile;
	struct timeline_system system = *timeline_get_system(samples->trace->timeline);
	int err = timeline_add_bytes(
		samples->trace->timeline, profile_get_string(profile, sequence->metric_name),
		profile_get_string_length(profile, sequence->metric_name), &system.sample_metric);

	if (err)
		return err;
	system.sample_frequency = sequence->frequency;
	timeline_set_system(samples->trace->timeline, &system);
	return 0;
}

static int add_metric(struct perfetto_samples *samples, const char *name, const char *unit,
		      uint32_t *ret)
{
	struct profile *profile = samples->trace->import->profile;
	uint32_t num_metrics = profile_count_metrics(profile);
	int err = profile_add_metric(profile, name, unit, ret);

	if (err)
		return err;
	if (profile_count_metrics(profile) > num_metrics && ++samples->num_metrics > MAX_METRICS)
		return import_fail_byte(samples->trace->import, samples->trace->offset,
					"samples of more than %d kinds", MAX_METRICS);
	return 0;
}

/* Names of recordings, each of which has all four. */
static const char *const wait_names[PERFETTO_MAX_WAIT_METRICS] = {METRIC_BLOCKED, "uninterruptible",
								  "run-queue", "preempted"};

static bool is_wait_metric(const struct perfetto_samples *samples, uint32_t metric)
{
	for (size_t i = 0; i < samples->num_wait_metrics; i++)
		if (samples->wait_metrics[i] == metric)
			return true;
	return false;
}

static void note_metric(struct perfetto_samples *samples, const struct perfetto_sequence *sequence)
{
	const struct profile *profile = samples->trace->import->profile;
	const char *unit = profile_get_string(profile, sequence->metric_unit);
	bool is_wait = false;

	if (is_recording(sequence)) {
		samples->clock_metric = sequence->metric;
		return;
	}
	if (!sequence->is_ours)
		return;
	if (is_wait_metric(samples, sequence->metric))
		return; /* of another sequence */
	for (size_t i = 0; i < PERFETTO_MAX_WAIT_METRICS; i++)
		is_wait |= string_equals(unit, "nanoseconds") &&
			   string_equals(profile_get_string(profile, sequence->metric_name),
					 wait_names[i]);
	if (is_wait) {
		samples->wait_metrics[samples->num_wait_metrics++] = sequence->metric;
	} else if (string_equals(profile_get_string(profile, sequence->metric_name),
				 METRIC_OFFWAKE)) {
		samples->woken_metric = sequence->metric;
		samples->has_woken_metric = true;
	} else {
		samples->has_other_metrics = true;
	}
}

static int find_metric(struct perfetto_samples *samples, struct perfetto_sequence *sequence)
{
	const struct profile *profile = samples->trace->import->profile;
	const char *name = "samples";
	const char *unit = "count";
	int err;

	if (sequence->metric != PERFETTO_NONE)
		return 0;
	if (sequence->is_ours && !is_recording(sequence)) {
		name = profile_get_string(profile, sequence->metric_name);
		unit = profile_get_string(profile, sequence->metric_unit);
	}
	err = add_metric(samples, name, unit, &sequence->metric);
	if (err)
		return err;
	note_metric(samples, sequence);
	return is_recording(sequence) ? keep_frequency(samples, sequence) : 0;
}

static void count_recorded(struct perfetto_samples *samples, const struct timeline_sample *sample)
{
	struct sampling *sampling = &samples->sampling;
	bool is_first = !sampling->complete_stacks && !sampling->truncated_stacks;

	if (is_first)
		sampling->period_ns = sample->weight;
	else if (sampling->period_ns != sample->weight)
		sampling->period_ns = 0;
	if (is_first || sample->time_ns < samples->first_ns)
		samples->first_ns = sample->time_ns;
	if (sample->time_ns > samples->last_ns)
		samples->last_ns = sample->time_ns;
	if (sample->is_truncated)
		sampling->truncated_stacks++;
	else
		sampling->complete_stacks++;
}

static void keep_sampling(struct perfetto_samples *samples)
{
	struct sampling *sampling = &samples->sampling;

	if (!sampling->complete_stacks && !sampling->truncated_stacks)
		return;
	sampling->duration_ns = samples->last_ns - samples->first_ns;
	sampling->lost_samples = samples->trace->import->counts.lost_samples;
	if (timeline_count_clock(samples->trace->timeline)) {
		const struct clock_snapshot *clock =
			timeline_get_clock(samples->trace->timeline, 0);

		sampling->start_ns = samples->first_ns - clock->boottime_ns + clock->realtime_ns;
	}
	profile_add_sampling(samples->trace->import->profile, sampling);
}

/* ---- the sums of a recording of waits --------------------------------------------------------- */

/* The sums that samples of a metric are added to. */
struct recorded_sums {
	uint64_t period_ns; /* of a sample of the clock */
	uint32_t clock;     /* metric; METRIC_NONE: no sample */
	uint32_t cpu;
	uint32_t wall;
};

/* Other clocks (record -e) do not have a period in the trace, so that their sums are not known. */
static bool is_recording_of_waits(const struct perfetto_samples *samples)
{
	const struct sampling *sampling = &samples->sampling;
	bool has_clock = sampling->complete_stacks || sampling->truncated_stacks;

	if (!samples->num_waits || samples->has_other_metrics)
		return false;
	return has_clock ? sampling->period_ns != 0 : samples->has_wait_slices;
}

/*
 * The weight of a sample to its sums, or of one of its timestamps; weight  in the sample's own metric.
 * Whatever is of other metrics, or other inputs, is left out.
 */
static int add_to_sums(const struct perfetto_samples *samples, const struct recorded_sums *sums,
		       const struct sample *sample, uint64_t weight,
		       const struct timestamp *timestamp)
{
	struct import *import = samples->trace->import;
	struct profile *profile = import->profile;
	bool is_clock = sample->metric == sums->clock;
	int err = 0;

	if ((!is_clock && !is_wait_metric(samples, sample->metric)) ||
	    profile_get_thread(profile, sample->thread)->source != import->source)
		return 0;
	if (is_clock && __builtin_mul_overflow(weight, sums->period_ns, &weight))
		err = -EOVERFLOW;
	for (int i = !is_clock; i < 2 && !err; i++) {
		uint32_t metric = i ? sums->wall : sums->cpu;

		err = timestamp ? profile_add_interval(
					  profile, sample->thread, sample->stack, metric, weight,
					  timestamp->time_ns,
					  timestamps_get_end_ns(profile_get_timestamps(profile),
								timestamp))
				: profile_add_sample(profile, sample->thread, sample->stack, metric,
						     weight);
	}
	return err == -EOVERFLOW ? import_fail_byte(import, samples->trace->offset,
						    "the weights of a stack exceed 64 bits")
				 : err;
}

/* Timestamps change their order as others are added: they are copied first. */
static int sum_up(const struct perfetto_samples *samples, const struct recorded_sums *sums)
{
	const struct profile *profile = samples->trace->import->profile;
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	size_t num_times = timestamps ? timestamps_count(timestamps) : 0;
	uint32_t num_samples = profile_count_samples(profile);
	_cleanup_free_ struct timestamp *times = calloc(num_times + 1, sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < num_times; i++)
		times[i] = *timestamps_get(timestamps, i);
	for (uint32_t i = 0; i < num_samples; i++) {
		struct sample sample = *profile_get_sample(profile, i);
		int err = add_to_sums(samples, sums, &sample, sample.value, NULL);

		if (err)
			return err;
	}
	for (size_t i = 0; i < num_times; i++) {
		struct sample sample = *profile_get_sample(profile, times[i].sample);
		int err = add_to_sums(samples, sums, &sample, times[i].weight, &times[i]);

		if (err)
			return err;
	}
	return 0;
}

/* Metrics in the order of a recording, with all kinds of waits. */
static int add_sum_metrics(struct perfetto_samples *samples, struct recorded_sums *sums)
{
	uint32_t ignored;
	int err = add_metric(samples, "cpu", "nanoseconds", &sums->cpu);

	if (err)
		return err;
	for (size_t i = 0; i < PERFETTO_MAX_WAIT_METRICS; i++) {
		err = add_metric(samples, wait_names[i], "nanoseconds", &ignored);
		if (err)
			return err;
	}
	return add_metric(samples, METRIC_WALL, "nanoseconds", &sums->wall);
}

static int add_sums(struct perfetto_samples *samples)
{
	struct profile *profile = samples->trace->import->profile;
	const struct sampling *sampling = &samples->sampling;
	uint64_t num_ticks = sampling->complete_stacks + sampling->truncated_stacks;
	struct recorded_sums sums = {
		.period_ns = sampling->period_ns,
		.clock = num_ticks ? samples->clock_metric : METRIC_NONE,
	};
	uint64_t num_cpu;
	uint64_t num_wall;
	int err = add_sum_metrics(samples, &sums);

	if (err)
		return err;
	num_cpu = profile_get_metric(profile, sums.cpu)->num_samples;
	num_wall = profile_get_metric(profile, sums.wall)->num_samples;
	err = sum_up(samples, &sums);
	if (err)
		return err;
	profile_set_metric_samples(profile, sums.cpu, num_cpu + num_ticks);
	profile_set_metric_samples(profile, sums.wall, num_wall + num_ticks + samples->num_waits);
	return 0;
}

void perfetto_samples_release(struct perfetto_samples *samples)
{
	perfetto_timed_waits_release(&samples->timed_waits);
}

int perfetto_samples_finish(struct perfetto_samples *samples, uint32_t first_wait)
{
	int err = perfetto_timed_waits_finish(&samples->timed_waits, samples->trace, first_wait);

	if (err)
		return err;
	keep_sampling(samples);
	return is_recording_of_waits(samples) ? add_sums(samples) : 0;
}

/* The time of a sample, if it is kept; of a wait, when its slice is known. */
static int add_time(struct perfetto_samples *samples, uint32_t thread, uint32_t metric,
		    uint64_t weight, const struct timeline_sample *sample)
{
	struct profile *profile = samples->trace->import->profile;
	struct perfetto_timed_wait wait = {
		.end_ns = sample->time_ns,
		.weight = weight,
		.owner = sample->thread,
		.thread = thread,
		.stack = sample->stack,
		.metric = metric,
		.is_queued = string_equals(
			profile_get_string(profile, profile_get_metric(profile, metric)->name),
			"run-queue"),
	};

	if (!is_wait_metric(samples, metric) &&
	    (!samples->has_woken_metric || samples->woken_metric != metric))
		return profile_add_timestamp(profile, thread, sample->stack, metric, weight,
					     sample->time_ns);
	return profile_get_timestamps(profile)
		       ? perfetto_timed_waits_add(&samples->timed_waits, &wait)
		       : 0;
}

/* Add a sample to the profile, perhaps with another weight there, and to the timeline. */
static int add_weighted(struct perfetto_samples *samples, uint32_t metric, uint64_t weight,
			struct timeline_sample *sample)
{
	struct import *import = samples->trace->import;
	uint32_t thread;
	int err = perfetto_threads_get_profile_id(samples->threads, sample->thread, sample->time_ns,
						  &thread);

	if (err)
		return err;
	err = profile_add_sample(import->profile, thread, sample->stack, metric, weight);
	if (err == -EOVERFLOW)
		return import_fail_byte(import, samples->trace->offset,
					"the weights of a stack exceed 64 bits");
	if (err)
		return err;
	err = add_time(samples, thread, metric, weight, sample);
	if (err)
		return err;
	import->counts.records++;
	import->counts.truncated_stacks += sample->is_truncated;
	if (metric > UINT8_MAX || !import->timeline)
		return 0;
	sample->metric = (uint8_t)metric;
	return timeline_add_sample(samples->trace->timeline, sample, NULL);
}

static int add_sample(struct perfetto_samples *samples, struct perfetto_sequence *sequence,
		      struct timeline_sample *sample)
{
	int err = find_metric(samples, sequence);

	if (err)
		return err;
	if (!is_recording(sequence)) {
		samples->num_waits += is_wait_metric(samples, sequence->metric);
		return add_weighted(samples, sequence->metric, sample->weight, sample);
	}
	count_recorded(samples, sample);
	return add_weighted(samples, sequence->metric, 1, sample);
}

int perfetto_samples_add_event(struct perfetto_samples *samples, uint32_t name, uint32_t thread,
			       uint32_t stack, uint64_t time_ns)
{
	struct timeline_sample sample = {
		.time_ns = time_ns, .weight = 1, .thread = thread, .stack = stack};
	const char *string = timeline_get_string(samples->trace->timeline, name);
	uint32_t metric;
	int err = add_metric(samples, *string ? string : "events", "count", &metric);

	return err ? err : add_weighted(samples, metric, 1, &sample);
}

uint32_t perfetto_samples_find_stack(struct perfetto_samples *samples,
				     const struct perfetto_sequence *sequence, uint64_t iid)
{
	uint32_t stack =
		perfetto_interned_find(sequence->interned, PERFETTO_INTERNED_CALLSTACK, iid);

	if (stack != PERFETTO_NONE)
		return stack;
	samples->num_stackless += iid != 0;
	return STACK_EMPTY;
}

int perfetto_samples_read(struct perfetto_samples *samples, const struct perfetto_packet *packet,
			  struct bytes message)
{
	struct perfetto_sequence *sequence = packet->sequence;
	uint64_t values[NUM_SAMPLE_FIELDS] = {[SAMPLE_UNWIND_ERROR] = UNWIND_ERROR_NONE};
	struct timeline_sample sample = {.time_ns = packet->time_ns};
	struct protobuf_field field;
	int err;

	while (protobuf_next(&message, &field))
		if (field.type == PROTOBUF_VARINT && field.number < NUM_SAMPLE_FIELDS)
			values[field.number] = field.value;
	if (values[SAMPLE_RECORDS_LOST] || values[SAMPLE_SKIPPED_REASON]) {
		uint64_t lost = values[SAMPLE_RECORDS_LOST];

		if (__builtin_add_overflow(samples->trace->import->counts.lost_samples,
					   lost ? lost : 1,
					   &samples->trace->import->counts.lost_samples))
			samples->trace->import->counts.lost_samples = UINT64_MAX;
		return 0;
	}
	sample.weight = sequence->is_ours ? values[SAMPLE_WEIGHT] : 1;
	sample.cpu = (uint16_t)values[SAMPLE_CPU];
	sample.is_truncated = values[SAMPLE_UNWIND_ERROR] != UNWIND_ERROR_NONE;
	if (values[SAMPLE_CPU_MODE] <= SAMPLE_MODE_USER)
		sample.mode = (uint8_t)(values[SAMPLE_CPU_MODE] & 3);
	sample.stack = perfetto_samples_find_stack(samples, sequence, values[SAMPLE_CALLSTACK]);
	err = perfetto_threads_find(samples->threads, (uint32_t)values[SAMPLE_PID],
				    (uint32_t)values[SAMPLE_TID], packet->time_ns, &sample.thread);
	if (err)
		return err;
	return add_sample(samples, sequence, &sample);
}

/* ---- samples of Chrome, many in a packet -------------------------------------------------- */

static int add_streamed(struct perfetto_samples *samples, const struct perfetto_packet *packet,
			uint32_t thread, uint64_t callstack, uint64_t time_ns)
{
	struct timeline_sample sample = {
		.time_ns = time_ns,
		.weight = 1,
		.thread = thread,
		.stack = perfetto_samples_find_stack(samples, packet->sequence, callstack),
		.mode = SAMPLE_MODE_USER,
	};

	return add_sample(samples, packet->sequence, &sample);
}

/* Two lists of numbers, which their writers do not pack. */
int perfetto_samples_read_streamed(struct perfetto_samples *samples,
				   const struct perfetto_packet *packet, struct bytes message)
{
	struct perfetto_sequence *sequence = packet->sequence;
	struct bytes deltas = message;
	struct protobuf_field field;
	struct protobuf_field delta;
	uint64_t time_ns = packet->time_ns;
	uint32_t thread;
	int err = perfetto_threads_find(samples->threads, sequence->pid, sequence->tid, time_ns,
					&thread);

	if (err)
		return err;
	sequence->is_ours = false;
	while (protobuf_next(&message, &field)) {
		if (field.number != 1 || field.type != PROTOBUF_VARINT)
			continue;
		while (protobuf_next(&deltas, &delta)) {
			if (delta.number == 2 && delta.type == PROTOBUF_VARINT) {
				time_ns += delta.value * 1000;
				break;
			}
		}
		err = add_streamed(samples, packet, thread, field.value, time_ns);
		if (err)
			return err;
	}
	return 0;
}
