/*
 * Java Flight Recorder, as HotSpot and async-profiler write it.
 *
 * A file is a sequence of chunks. Each can be read by itself, with its own class numbers and
 * constants, so that recordings can be joined with cat:
 *
 *	header       offsets of metadata and last checkpoint, start time, ticks per second
 *	event …      size, class, fields
 *	checkpoint   constants: threads, stack traces, methods, symbols; there may be several
 *	event …
 *	metadata     the classes: names, fields, their types and units
 *
 * An event contains neither the number of its fields nor their lengths; only the metadata does, so
 * it is read first (read_schema.c). Fields name threads and stacks by the keys of constants. These
 * are often written after the events that use them, so the checkpoints are next (read_chunk.c).
 * Then the events are walked three times: for the pid, for the first metric, for the samples. Time
 * is cheap here, as an event of no interest is skipped by its size.
 *
 * Every event that has a stack trace is a sample: one metric counts the events of a class, and
 * one more sums each of its fields that are a duration or an amount of data. They are named by
 * class and field, jdk.ThreadPark and jdk.ThreadPark.duration, and so custom events of applications
 * are included.
 *
 * Two producers use jdk.ExecutionSample, with different meanings of the thread's state: for
 * HotSpot every one is a thread that runs Java; async-profiler's wall-clock mode uses it for
 * threads that wait, too, and gives them another state than STATE_DEFAULT. These are counted by a
 * metric of their own here. Until its version 2.0 it had no such state, and gave all threads that it
 * sampled a state of the other kind; there a setting tells whether it was the wall clock.
 *
 * Source: OpenJDK, jdk.jfr.internal.consumer (ChunkHeader, ChunkParser, MetadataReader);
 * async-profiler, flightRecorder.cpp.
 */
#include <errno.h>
#include <string.h>

#include "formats/format.h"
#include "formats/jfr/read_chunk.h"
#include "formats/jfr/read_names.h"
#include "formats/jfr/read_value.h"
#include "formats/reader.h"

#define EXECUTION_SAMPLE  "jdk.ExecutionSample"
#define WALL_CLOCK_SAMPLE "profiler.WallClockSample"
#define ACTIVE_SETTING    "jdk.ActiveSetting"
#define NO_METRIC         UINT32_MAX
#define MAX_WEIGHTS       16 /* of one class */

/* A field of an event that is summed, in nanoseconds or bytes. */
struct jfr_weight {
	uint32_t field;
	uint64_t value;
};

/* The weight of an event and its metric. */
struct count {
	uint32_t metric;
	uint64_t value;
	uint64_t
		duration_ns; /* that it is spread over, from the start of the event; 0: it is not */
};

struct jfr_total {
	uint64_t value;
	bool is_exceeded; /* the excess over the limit was dropped */
};

struct jfr_reader {
	struct import *import;
	size_t chunk_offset; /* in the file */
	struct jfr_chunk chunk;
	struct jfr_names names;
	/*
	 * The metric that counts the events of a class, by class, and the one that sums a field, by
	 * field. NO_METRIC until an event needs it. Both last for a chunk: the next one numbers its
	 * classes anew.
	 */
	ARRAY(uint32_t) metrics;
	ARRAY(uint32_t) sums;
	uint32_t wall_metric;
	uint64_t pid;
	bool has_cpu_event; /* async-profiler was asked to sample something but the wall clock */
	ARRAY(struct jfr_total) totals; /* by metric of the profile */
	struct text text;
};

static int fail_in_chunk(struct jfr_reader *reader, size_t offset, const char *fault)
{
	return import_fail_byte(reader->import, reader->chunk_offset + offset, "%s", fault);
}

/* ---- metrics ---- */

static void append_string(struct jfr_reader *reader, uint32_t string)
{
	struct jfr_cursor input = reader->chunk.input;

	if (string >= reader->chunk.schema.strings.length)
		return;
	input.offset = reader->chunk.schema.strings.items[string].offset;
	jfr_chunk_read_string(&reader->chunk, &input, &reader->text);
}

static int add_metric(struct jfr_reader *reader, const struct jfr_class *class,
		      const struct jfr_field *field, uint32_t *metric)
{
	const char *unit = "count";

	if (*metric != NO_METRIC)
		return 0;
	text_truncate(&reader->text, 0);
	append_string(reader, class->name);
	if (field) {
		text_append_char(&reader->text, '.');
		append_string(reader, field->name);
		unit = field->unit == JFR_BYTES ? "bytes" : "nanoseconds";
	}
	text_append_string(&reader->text, "");
	if (reader->text.failed)
		return -ENOMEM;
	return profile_add_metric(reader->import->profile, reader->text.data, unit, metric);
}

static int add_wall_metric(struct jfr_reader *reader)
{
	if (reader->wall_metric != NO_METRIC)
		return 0;
	return profile_add_metric(reader->import->profile, EXECUTION_SAMPLE ".wall", "count",
				  &reader->wall_metric);
}

static uint64_t scale(uint64_t value, uint64_t factor)
{
	return __builtin_mul_overflow(value, factor, &value) ? UINT64_MAX : value;
}

/*
 * Convert to nanoseconds or bytes. Durations below 0 mean "unknown" and "forever" (Long.MIN_VALUE,
 * as the timeout of jdk.ThreadPark): they add nothing.
 */
static uint64_t convert(const struct jfr_reader *reader, enum jfr_unit unit, uint64_t value)
{
	uint64_t frequency = reader->chunk.ticks_per_second;
	unsigned __int128 ns;

	if ((int64_t)value < 0)
		return 0;
	switch (unit) {
	case JFR_TICKS:
		if (!frequency)
			return 0;
		ns = (unsigned __int128)value * 1000000000 / frequency;
		return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
	case JFR_MICROSECONDS:
		return scale(value, 1000);
	case JFR_MILLISECONDS:
		return scale(value, 1000000);
	case JFR_SECONDS:
		return scale(value, 1000000000);
	case JFR_NANOSECONDS:
	case JFR_BYTES:
	case JFR_NO_UNIT:
		break;
	}
	return value;
}

/* ---- events ---- */

struct jfr_event {
	size_t offset;
	const struct jfr_class *class;
	struct jfr_values values;
	struct jfr_weight weights[MAX_WEIGHTS];
	size_t num_weights;
};

static void add_weight(const struct jfr_reader *reader, struct jfr_event *event, uint32_t field_id,
		       uint64_t number)
{
	const struct jfr_field *field = &reader->chunk.schema.fields.items[field_id];
	uint64_t value = convert(reader, field->unit, number);

	if (value && event->num_weights < MAX_WEIGHTS)
		event->weights[event->num_weights++] = (struct jfr_weight){field_id, value};
}

/* Fields are found by name, as their order differs between versions of the JDK. */
static int read_fields(struct jfr_reader *reader, struct jfr_cursor *input, struct jfr_event *event)
{
	uint32_t end = event->class->first_field + event->class->num_fields;

	for (int role = 0; role < NUM_JFR_ROLES; role++)
		event->values.classes[role] = JFR_NONE;
	for (uint32_t i = event->class->first_field; i < end && !input->failed; i++) {
		const struct jfr_field *field = &reader->chunk.schema.fields.items[i];
		uint64_t number = jfr_read_field(&reader->chunk.schema, input, field);

		event->values.numbers[field->role] = number;
		event->values.classes[field->role] = field->class;
		if (field->unit != JFR_NO_UNIT && !input->failed)
			add_weight(reader, event, i, number);
	}
	return input->failed ? fail_in_chunk(reader, event->offset, "an event is damaged") : 0;
}

static bool is_class_named(const struct jfr_reader *reader, const struct jfr_class *class,
			   const char *name)
{
	return jfr_schema_string_equals(&reader->chunk.schema, class->name, name);
}

/* Whether it is an execution sample of async-profiler from the wall clock, not from a CPU. */
static bool is_of_wall_clock(struct jfr_reader *reader, const struct jfr_event *event)
{
	struct jfr_names *names = &reader->names;

	if (!names->is_async || !is_class_named(reader, event->class, EXECUTION_SAMPLE) ||
	    jfr_names_is_default_state(names, &event->values))
		return false;
	return names->has_default_state || !reader->has_cpu_event;
}

static int count_event(struct jfr_reader *reader, const struct jfr_event *event, struct count *ret)
{
	uint32_t *metric =
		&reader->metrics.items[event->class - reader->chunk.schema.classes.items];
	int err;

	ret->value = 1;
	if (is_of_wall_clock(reader, event)) {
		err = add_wall_metric(reader);
		ret->metric = reader->wall_metric;
		return err;
	}
	/* A thread that waits is one event with a count, instead of one event a tick. */
	if (is_class_named(reader, event->class, WALL_CLOCK_SAMPLE) &&
	    event->values.classes[JFR_SAMPLES] != JFR_NONE)
		ret->value = event->values.numbers[JFR_SAMPLES];
	err = add_metric(reader, event->class, NULL, metric);
	ret->metric = *metric;
	return err;
}

/*
 * Durations are spread over their event, if they are what is counted; else an event counts at its
 * start.
 */
static int add_timestamp(struct jfr_reader *reader, const struct jfr_event *event, uint32_t thread,
			 uint32_t stack, const struct count *count, uint64_t weight)
{
	struct profile *profile = reader->import->profile;
	uint64_t time_ns;
	uint64_t end_ns;

	if (event->values.classes[JFR_START_TIME] == JFR_NONE ||
	    !jfr_chunk_find_time(&reader->chunk, event->values.numbers[JFR_START_TIME], &time_ns))
		return 0;
	if (__builtin_add_overflow(time_ns, count->duration_ns, &end_ns))
		end_ns = time_ns;
	return profile_add_interval(profile, thread, stack, count->metric, weight, time_ns, end_ns);
}

/* Start with the sums that other files have added to the metrics. */
static int init_totals(struct jfr_reader *reader)
{
	const struct profile *profile = reader->import->profile;
	uint32_t num_metrics = profile_count_metrics(profile);

	for (uint32_t i = 0; i < num_metrics; i++)
		if (!array_add(&reader->totals))
			return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		struct jfr_total *total = &reader->totals.items[sample->metric];

		if (__builtin_add_overflow(total->value, sample->value, &total->value))
			total->value = UINT64_MAX;
	}
	return 0;
}

/*
 * Sums stay at 2^63 - 1, which all formats hold: a thread that parks for ever is one event with a
 * timeout near that, and must not cost all other events.
 *
 * value  in: the weight to add; out: the part that fits
 */
static int limit(struct jfr_reader *reader, const struct jfr_event *event, uint32_t metric,
		 uint64_t *value)
{
	struct jfr_total *total;
	uint64_t left;

	while (reader->totals.length <= metric)
		if (!array_add(&reader->totals))
			return -ENOMEM;
	total = &reader->totals.items[metric];
	left = total->value < INT64_MAX ? INT64_MAX - total->value : 0;
	if (*value > left && reader->import->is_strict)
		return fail_in_chunk(reader, event->offset, "a sum exceeds 63 bits");
	if (*value > left) {
		*value = left;
		total->is_exceeded = true;
	}
	total->value += *value;
	return 0;
}

static int add_sample(struct jfr_reader *reader, const struct jfr_event *event, uint32_t thread,
		      uint32_t stack, const struct count *count)
{
	uint64_t value = count->value;
	int err = limit(reader, event, count->metric, &value);

	if (err)
		return err;
	err = profile_add_sample(reader->import->profile, thread, stack, count->metric, value);
	if (err)
		return err;
	return add_timestamp(reader, event, thread, stack, count, value);
}

static int add_to_sum(struct jfr_reader *reader, const struct jfr_event *event,
		      const struct jfr_weight *weight, uint32_t thread, uint32_t stack)
{
	uint32_t *metric = &reader->sums.items[weight->field];
	const struct jfr_field *field = &reader->chunk.schema.fields.items[weight->field];
	bool is_duration = jfr_schema_string_equals(&reader->chunk.schema, field->name, "duration");
	int err = add_metric(reader, event->class,
			     &reader->chunk.schema.fields.items[weight->field], metric);

	if (err)
		return err;
	return add_sample(reader, event, thread, stack,
			  &(struct count){*metric, weight->value, is_duration ? weight->value : 0});
}

/*
 * An event without a stack is not a sample: JFR leaves the stack out of events that it was
 * configured not to trace. Samplers that failed to walk a stack still sampled, so jdk.…Sample
 * counts without one.
 */
static bool is_sample(struct jfr_reader *reader, const struct jfr_event *event)
{
	if (event->values.numbers[JFR_STACK_TRACE])
		return true;
	text_truncate(&reader->text, 0);
	append_string(reader, event->class->name);
	return reader->text.length && string_ends_with(reader->text.data, "Sample");
}

static int add_event(struct jfr_reader *reader, const struct jfr_event *event)
{
	struct count count = {0};
	uint32_t thread;
	uint32_t stack;
	int err = count_event(reader, event, &count);

	if (err)
		return err;
	err = jfr_names_find_thread(&reader->names, &event->values, &thread);
	if (err)
		return err;
	err = jfr_names_find_stack(&reader->names, &event->values, &stack);
	if (err == -EBADMSG)
		return fail_in_chunk(reader, event->offset, "the stack of an event is damaged");
	if (err)
		return err;
	err = add_sample(reader, event, thread, stack, &count);
	if (err)
		return err;
	reader->import->counts.records++;
	for (size_t i = 0; i < event->num_weights; i++) {
		err = add_to_sum(reader, event, &event->weights[i], thread, stack);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Size and class of the event at the offset. The sizes chain the events of a chunk, so a wrong one
 * costs all that follow.
 *
 * ret       behind the head, at the first field; its end is that of the event
 * ret_type  number of the class; 0: metadata, 1: a checkpoint
 */
static int read_event_head(struct jfr_reader *reader, size_t offset, struct jfr_cursor *ret,
			   uint64_t *ret_type)
{
	uint64_t size;

	*ret = reader->chunk.input;
	ret->offset = offset;
	size = jfr_read_integer(ret, 4);
	*ret_type = jfr_read_integer(ret, 8);
	if (ret->failed || size < ret->offset - offset || size > ret->size - offset)
		return fail_in_chunk(reader, offset, "impossible size of an event");
	ret->size = offset + size;
	return 0;
}

/* Settings of the recorder: hundreds of events, which need no stack. */
static bool is_about_recording(const struct jfr_reader *reader, const struct jfr_class *class)
{
	return is_class_named(reader, class, ACTIVE_SETTING) ||
	       is_class_named(reader, class, "jdk.ActiveRecording");
}

static int read_event(struct jfr_reader *reader, size_t offset, struct jfr_cursor *input,
		      uint64_t type)
{
	struct jfr_event event = {.offset = offset,
				  .class = jfr_schema_find_class(&reader->chunk.schema, type)};
	int err;

	if (type <= 1)
		return 0;
	if (!event.class) {
		reader->import->counts.unknown_events++;
		return 0;
	}
	if (!event.class->has_stack)
		return 0;
	err = read_fields(reader, input, &event);
	if (err)
		return err;
	if (is_sample(reader, &event))
		return add_event(reader, &event);
	reader->import->counts.without_stack += !is_about_recording(reader, event.class);
	return 0;
}

/* The event that async-profiler was asked to sample. The later chunks of a recording lack it. */
static void read_setting(struct jfr_reader *reader, const struct jfr_values *values)
{
	if (jfr_names_is_text(&reader->names, values, JFR_NAME, "event"))
		reader->has_cpu_event =
			!jfr_names_is_text(&reader->names, values, JFR_VALUE, "wall");
}

/*
 * jdk.JVMInformation holds the pid, jdk.ActiveSetting the sampled events. They may follow the
 * samples that need them.
 */
static int find_facts(struct jfr_reader *reader, size_t offset, struct jfr_cursor *input,
		      uint64_t type)
{
	const struct jfr_class *class = jfr_schema_find_class(&reader->chunk.schema, type);
	struct jfr_values values = {0};
	bool is_setting;

	(void)offset;
	if (type <= 1 || !class)
		return 0;
	is_setting = is_class_named(reader, class, ACTIVE_SETTING);
	if (!is_setting && !is_class_named(reader, class, "jdk.JVMInformation"))
		return 0;
	jfr_read_struct(&reader->chunk.schema, input,
			(uint32_t)(class - reader->chunk.schema.classes.items), &values);
	if (!input->failed && is_setting && reader->names.is_async)
		read_setting(reader, &values);
	else if (!input->failed && values.classes[JFR_PID] != JFR_NONE)
		reader->names.pid = values.numbers[JFR_PID];
	return 0;
}

/*
 * Metrics are added in order of their events, but the first one of a profile is shown by default:
 * it shall be the execution samples, even after an allocation or a lock.
 */
static int make_first_metric(struct jfr_reader *reader, size_t offset, struct jfr_cursor *input,
			     uint64_t type)
{
	struct jfr_event event = {.offset = offset,
				  .class = jfr_schema_find_class(&reader->chunk.schema, type)};
	struct count ignored;
	int err;

	if (type <= 1 || !event.class || profile_count_metrics(reader->import->profile) ||
	    !is_class_named(reader, event.class, EXECUTION_SAMPLE))
		return 0;
	err = read_fields(reader, input, &event);
	if (err)
		return err;
	return count_event(reader, &event, &ignored);
}

static int for_each_event(struct jfr_reader *reader,
			  int (*work)(struct jfr_reader *reader, size_t offset,
				      struct jfr_cursor *input, uint64_t type))
{
	size_t offset = JFR_HEADER_BYTES;
	int err;

	while (offset < reader->chunk.input.size) {
		struct jfr_cursor input;
		uint64_t type;

		err = read_event_head(reader, offset, &input, &type);
		if (err)
			return err;
		err = work(reader, offset, &input, type);
		if (err)
			return err;
		offset = input.size;
	}
	return 0;
}

/* ---- chunks ---- */

static int prepare(struct jfr_reader *reader)
{
	int err = array_reserve(&reader->metrics, reader->chunk.schema.classes.length);

	if (err)
		return err;
	err = array_reserve(&reader->sums, reader->chunk.schema.fields.length);
	if (err)
		return err;
	reader->metrics.length = reader->chunk.schema.classes.length;
	reader->sums.length = reader->chunk.schema.fields.length;
	array_for_each (&reader->metrics, metric)
		*metric = NO_METRIC;
	array_for_each (&reader->sums, metric)
		*metric = NO_METRIC;
	return jfr_names_init(&reader->names, reader->import, &reader->chunk);
}

static int read_events(struct jfr_reader *reader)
{
	int err = prepare(reader);

	if (err)
		return err;
	err = for_each_event(reader, find_facts);
	if (err)
		return err;
	err = for_each_event(reader, make_first_metric);
	if (err)
		return err;
	return for_each_event(reader, read_event);
}

/*
 * Read the chunk at chunk_offset; release names and chunk in any case.
 *
 * ret_size  of the chunk in bytes; 0: not in its header, so the next chunk cannot be found
 *
 * Returns 0, -ENOMEM, -ENODATA for a chunk that its producer has not finished, or -EBADMSG for a
 * damaged one, with the reason in the import.
 */
static int read_chunk(struct jfr_reader *reader, size_t *ret_size)
{
	struct import *import = reader->import;
	const uint8_t *data = import->data + reader->chunk_offset;
	int err = jfr_chunk_init(&reader->chunk, data, import->size - reader->chunk_offset);

	*ret_size = reader->chunk.metadata_offset ? reader->chunk.input.size : 0;
	if (err == -EBADMSG)
		return fail_in_chunk(reader, reader->chunk.fault.offset, reader->chunk.fault.what);
	if (err)
		return err;
	return read_events(reader);
}

/* A damaged or unfinished chunk costs the rest of the chunk, with a warning, but not the others. */
static int forgive(struct jfr_reader *reader, int err)
{
	struct import *import = reader->import;

	if (err == -ENODATA)
		err = fail_in_chunk(reader, 0, "the chunk is unfinished or truncated");
	if (err != -EBADMSG || import->is_strict)
		return err;
	import->counts.skipped++;
	import_warn(import, "%s; the rest of the chunk is skipped", import_get_reason(import));
	return 0;
}

static int read_chunks(struct jfr_reader *reader)
{
	struct import *import = reader->import;

	while (reader->chunk_offset < import->size) {
		size_t size;
		int err = read_chunk(reader, &size);

		jfr_names_release(&reader->names);
		jfr_chunk_release(&reader->chunk);
		err = forgive(reader, err);
		if (err)
			return err;
		if (!size)
			break;
		reader->chunk_offset += size;
		if (import->advance)
			import->advance(import->context, reader->chunk_offset);
	}
	if (import->counts.records) {
		import->error = (struct error){0}; /* forgiven faults are no errors */
		return 0;
	}
	if (import->error.message[0])
		return -EBADMSG;
	return import_fail_byte(import, import->size,
				"no event in the recording has a stack trace");
}

static void jfr_reader_release(struct jfr_reader *reader)
{
	array_release(&reader->metrics);
	array_release(&reader->sums);
	array_release(&reader->totals);
	text_release(&reader->text);
}

static void report_losses(struct jfr_reader *reader)
{
	struct import *import = reader->import;
	uint32_t num_exceeded = 0;
	uint32_t first = 0;

	for (uint32_t i = 0; i < reader->totals.length; i++)
		if (reader->totals.items[i].is_exceeded && !num_exceeded++)
			first = i;
	if (num_exceeded == 1)
		import_warn(import, "the sum of %s exceeds 2^63 - 1 and is capped",
			    format_get_metric_name(import->profile, first));
	else if (num_exceeded)
		import_warn(import,
			    "the sums of %s and %u other metrics exceed 2^63 - 1 and are capped",
			    format_get_metric_name(import->profile, first), num_exceeded - 1);
	if (import->counts.without_stack)
		import_warn_counted(import, import->counts.without_stack,
				    "{event|events} recorded without a stack, skipping");
}

static int read_jfr(struct import *import)
{
	_cleanup_(jfr_reader_release) struct jfr_reader reader = {.import = import,
								  .wall_metric = NO_METRIC};
	int err = init_totals(&reader);

	if (err)
		return err;
	err = read_chunks(&reader);
	if (err)
		return err;
	report_losses(&reader);
	/* The headers of the chunks have the calendar's time. */
	return profile_set_clock(import->profile, import->source, 0);
}

static enum detection detect(const uint8_t *data, size_t size)
{
	return size >= 8 && memcmp(data, "FLR\0", 4) == 0 ? DETECTED_SURE : DETECTED_NOT;
}

const struct format format_jfr = {
	.name = "jfr",
	.extension = ".jfr",
	.summary = "recordings of Java Flight Recorder and async-profiler",
	.producers = "JDK 17, async-profiler 3.0",
	.detect = detect,
	.read = read_jfr,
};
