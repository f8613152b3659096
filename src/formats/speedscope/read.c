/*
 * Speedscope's JSON: a table of frames, and profiles that refer to them by index.
 *
 *	{"shared": {"frames": [{"name": "main"}, {"name": "read"}]},
 *	 "profiles": [
 *	  {"type": "sampled", "unit": "none", "samples": [[0, 1], [0]], "weights": [2, 1]},
 *	  {"type": "evented", "unit": "milliseconds", "endValue": 7,
 *	   "events": [{"type": "O", "frame": 0, "at": 0}, {"type": "C", "frame": 0, "at": 7}]}]}
 *
 * A sampled profile has a list of stacks, outermost frame first, and a list of weights beside it.
 * In an evented one frames open and close at points in time; the time between two events is the
 * weight of the open stack.
 *
 * The table may follow the profiles that need it, so two passes are made over the text: the first
 * reads the frames and counts the profiles, the second reads the profiles. Only the location of
 * each frame is kept in memory. Samples and weights are apart in the text, and are read by two
 * tokenizers side by side.
 *
 * All profiles are read. If there are several, each is a thread with its name, unless we wrote it:
 * then a note of ours (formats/thread_note.h) has its thread and metric. Times become nanoseconds.
 *
 * Source: src/lib/file-format-spec.ts of speedscope's repository.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "formats/json_table.h"
#include "formats/known_samples.h"
#include "formats/reader.h"
#include "formats/signed_sums.h"
#include "formats/thread_note.h"

#define MAX_VALUE 9.2e18 /* limit of 63 bits */

/* Offsets of a profile's lists in the text, in bytes; 0: it has none. */
struct speedscope_parts {
	size_t samples;
	size_t weights;
	size_t events;
};

struct speedscope_reader {
	struct import *import;
	ARRAY(uint32_t) locations; /* by frame */
	bool has_profiles;         /* the list, which may be empty */
	bool has_parts;            /* a profile has samples or events, which may be empty, too */
	uint64_t num_profiles;
	struct processes processes;
	struct known_samples known_samples;
	bool has_decimals;
	struct signed_sums signed_sums;

	/* The profile that is being read. */
	struct speedscope_parts parts;
	struct text name;
	struct text unit;
	struct thread_note note;
	double end_value;
	double factor;
	uint32_t thread;
	uint32_t metric;
	ARRAY(uint32_t) open; /* frames, outermost first */
	ARRAY(uint32_t) stacks;
};

static int fail_expected(struct speedscope_reader *reader, size_t offset, const char *expected)
{
	return import_fail_byte(reader->import, offset, "expected %s", expected);
}

/* ---- frames ---- */

static int read_frame(void *context, struct json *json)
{
	struct speedscope_reader *reader = context;
	struct profile *profile = reader->import->profile;
	_cleanup_(text_release) struct text name = {0};
	_cleanup_(text_release) struct text file = {0};
	_cleanup_(text_release) struct text module = {0};
	_cleanup_(text_release) struct text kind = {0};
	struct frame frame = {0};
	bool has_module = false;
	uint64_t line = 0;
	uint32_t *location = array_add(&reader->locations);
	enum json_token token;
	size_t length;
	int err;

	if (!location)
		return -ENOMEM;
	while ((token = json_next(json)) == JSON_KEY) {
		if (json_is(json, "name"))
			json_take_string(json, &name);
		else if (json_is(json, "file"))
			json_take_string(json, &file);
		else if (json_is(json, "module")) { /* ours, as is the kind */
			json_take_string(json, &module);
			has_module = true;
		} else if (json_is(json, "kind"))
			json_take_string(json, &kind);
		else if (json_is(json, "line"))
			line = json_take_u64(json);
		else
			json_skip_value(json);
	}
	if (name.failed || file.failed || module.failed || kind.failed)
		return -ENOMEM;
	length = name.length;
	err = reader_strip_annotation(profile, name.data ? name.data : "", &length, &frame);
	if (err)
		return err;
	err = profile_add_frame_name(profile, name.data ? name.data : "", length, &frame.name);
	if (err)
		return err;
	if (file.length) {
		err = string_table_add(profile_get_strings(profile), file.data, file.length,
				       &frame.file);
		if (err)
			return err;
	}
	if (has_module) {
		err = string_table_add(profile_get_strings(profile), module.data ? module.data : "",
				       module.length, &frame.module);
		if (err)
			return err;
	}
	if (kind.length)
		frame.kind = (uint8_t)frame_kind_find_type(kind.data, frame.kind);
	frame.full_name = frame.name;
	frame.line = line <= UINT32_MAX ? (uint32_t)line : 0;
	return profile_add_frame_location(profile, &frame, location);
}

static int read_shared(struct speedscope_reader *reader, struct json *json)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while (json_next(json) == JSON_KEY) {
		int err;

		if (!json_is(json, "frames")) {
			json_skip_value(json);
			continue;
		}
		err = reader_read_objects(reader->import, json, "a frame, which is an object",
					  read_frame, reader);
		if (err)
			return err;
	}
	return 0;
}

/* The number of profiles decides whether their names are those of threads. */
static int count_profiles(struct speedscope_reader *reader, struct json *json)
{
	enum json_token token = json_next(json);

	if (token != JSON_ARRAY) {
		json_skip(json, token);
		return 0;
	}
	reader->has_profiles = true;
	while ((token = json_next(json)) != JSON_ARRAY_END && token != JSON_FAILED) {
		reader->num_profiles++;
		json_skip(json, token);
	}
	return 0;
}

/* ---- samples ---- */

/*
 * A number in the metric's unit. Speedscope's weights are doubles; integers in a unit that needs no
 * conversion are taken as they are written, for a double holds only 53 bits of them.
 */
static bool get_value(struct speedscope_reader *reader, const struct json *json, uint64_t *ret)
{
	double value;
	double whole;

	if (reader->factor == 1 && json_get_u64(json, ret))
		return true;
	value = json_get_double(json) * reader->factor;
	whole = floor(value + 0.5);
	if (!(whole >= 0 && whole <= MAX_VALUE))
		return false;
	if (reader->factor == 1 && whole != value)
		reader->has_decimals = true;
	*ret = (uint64_t)whole;
	return true;
}

/* The difference of two profiles has weights below 0. */
static bool get_weight(struct speedscope_reader *reader, const struct json *json, bool *is_negative,
		       uint64_t *ret)
{
	struct json amount = *json;

	*is_negative = json->length && json->text[0] == '-';
	amount.text += *is_negative;
	amount.length -= *is_negative;
	return get_value(reader, &amount, ret);
}

static int add_level(struct speedscope_reader *reader, uint64_t frame, uint32_t *stack)
{
	return profile_add_stack(reader->import->profile, *stack, reader->locations.items[frame],
				 stack);
}

/* A list of frames; *ret_good is false when one is not in the table. */
static int read_stack(struct speedscope_reader *reader, struct json *json, uint32_t *ret,
		      bool *ret_good)
{
	enum json_token token;
	uint64_t frame;

	*ret = STACK_EMPTY;
	*ret_good = true;
	while ((token = json_next(json)) != JSON_ARRAY_END && token != JSON_FAILED) {
		int err;

		if (!json_is_number(json, token) || !json_get_u64(json, &frame) ||
		    frame >= reader->locations.length) {
			/*
			 * Read on to the end of the list nevertheless: the next sample is behind
			 * it.
			 */
			*ret_good = false;
			json_skip(json, token);
			continue;
		}
		err = add_level(reader, frame, ret);
		if (err)
			return err;
	}
	return 0;
}

/* The weight is taken in any case, also of a sample that is skipped: both lists go on together. */
static int read_sample(struct speedscope_reader *reader, struct json *samples, struct json *weights)
{
	size_t offset = reader->parts.samples + samples->offset;
	enum json_token token = weights ? json_next(weights) : JSON_NULL;
	struct negative_sum sample = {
		.thread = reader->thread, .metric = reader->metric, .amount = 1};
	bool is_negative = false;
	bool is_good;
	int err = read_stack(reader, samples, &sample.stack, &is_good);

	if (err)
		return err;
	if (weights && token == JSON_FAILED)
		return reader_fail_json(reader->import, weights, reader->parts.weights);
	if (!is_good)
		return reader_skip_byte(reader->import, offset,
					"a sample with a frame missing in the table");
	if (weights && (!json_is_number(weights, token) ||
			!get_weight(reader, weights, &is_negative, &sample.amount)))
		return reader_skip_byte(reader->import, offset, "a sample without a weight");
	return signed_sums_add(&reader->signed_sums, reader->import, offset, &sample, is_negative);
}

/* Samples and weights are apart: two tokenizers go side by side. */
static int read_samples(struct speedscope_reader *reader)
{
	const struct import *import = reader->import;
	const struct speedscope_parts *parts = &reader->parts;
	_cleanup_(json_release) struct json samples =
		json_of(import->data + parts->samples, import->size - parts->samples);
	_cleanup_(json_release) struct json weights =
		json_of(import->data + parts->weights, import->size - parts->weights);
	bool has_weights = parts->weights;
	enum json_token token;

	if (json_next(&samples) != JSON_ARRAY || (has_weights && json_next(&weights) != JSON_ARRAY))
		return fail_expected(reader, parts->samples, "lists of samples and of weights");
	while ((token = json_next(&samples)) == JSON_ARRAY) {
		int err = read_sample(reader, &samples, has_weights ? &weights : NULL);

		if (err)
			return err;
	}
	if (token == JSON_FAILED)
		return reader_fail_json(reader->import, &samples, parts->samples);
	if (token != JSON_ARRAY_END)
		return fail_expected(reader, parts->samples + samples.offset, "a list of frames");
	return 0;
}

/* ---- events ---- */

struct speedscope_event {
	bool opens;
	bool closes;
	bool has_frame;
	bool has_time;
	uint64_t frame;
	uint64_t time;
};

static struct speedscope_event read_event(struct speedscope_reader *reader, struct json *json)
{
	struct speedscope_event event = {0};
	enum json_token token;

	while ((token = json_next(json)) == JSON_KEY) {
		bool is_type = json_is(json, "type");
		bool is_frame = json_is(json, "frame");
		bool is_time = json_is(json, "at");

		token = json_next(json);
		if (is_type && token == JSON_STRING) {
			event.opens = json_is(json, "O");
			event.closes = json_is(json, "C");
		} else if (is_frame && json_is_number(json, token)) {
			event.has_frame = json_get_u64(json, &event.frame);
		} else if (is_time && json_is_number(json, token)) {
			event.has_time = get_value(reader, json, &event.time);
		}
		json_skip(json, token);
	}
	return event;
}

/* Stacks of the open frames are kept beside them, so that closing one needs no search. */
static uint32_t get_open_stack(const struct speedscope_reader *reader)
{
	return reader->stacks.length ? reader->stacks.items[reader->stacks.length - 1]
				     : STACK_EMPTY;
}

static int open_frame(struct speedscope_reader *reader, uint64_t frame)
{
	uint32_t stack = get_open_stack(reader);
	uint32_t *opened = array_add(&reader->open);
	uint32_t *added = array_add(&reader->stacks);

	if (!opened || !added)
		return -ENOMEM;
	*opened = (uint32_t)frame;
	*added = stack;
	return add_level(reader, frame, added);
}

/* Time goes on to `time`: the stack that was open since *now gets the difference as its weight. */
static int pass_time(struct speedscope_reader *reader, size_t offset, uint64_t *now, uint64_t time)
{
	uint64_t duration = time - *now;

	*now = time;
	if (!duration || !reader->stacks.length)
		return 0;
	return reader_add_sample(reader->import, offset, reader->thread, get_open_stack(reader),
				 reader->metric, duration);
}

static int apply_event(struct speedscope_reader *reader, size_t offset,
		       const struct speedscope_event *event, uint64_t *now)
{
	bool is_innermost =
		reader->open.length && reader->open.items[reader->open.length - 1] == event->frame;
	int err;

	if (event->opens == event->closes || !event->has_frame || !event->has_time ||
	    event->frame >= reader->locations.length)
		return reader_skip_byte(reader->import, offset, "a malformed event");
	if (event->time < *now)
		return reader_skip_byte(reader->import, offset,
					"an event that is earlier than the one before");
	if (event->closes && !is_innermost)
		return reader_skip_byte(reader->import, offset,
					"the end of a frame that is not the innermost one");
	err = pass_time(reader, offset, now, event->time);
	if (err)
		return err;
	if (event->opens)
		return open_frame(reader, event->frame);
	reader->open.length--;
	reader->stacks.length--;
	return 0;
}

static int read_events(struct speedscope_reader *reader)
{
	const struct import *import = reader->import;
	size_t base = reader->parts.events;
	_cleanup_(json_release) struct json json =
		json_of(import->data + base, import->size - base);
	enum json_token token = json_next(&json);
	uint64_t now = 0;
	double end = floor(reader->end_value * reader->factor + 0.5);

	reader->open.length = reader->stacks.length = 0;
	if (token != JSON_ARRAY)
		return fail_expected(reader, base, "a list of events");
	while ((token = json_next(&json)) == JSON_OBJECT) {
		size_t offset = base + json.offset;
		struct speedscope_event event = read_event(reader, &json);
		int err = apply_event(reader, offset, &event, &now);

		if (err)
			return err;
	}
	if (token == JSON_FAILED)
		return reader_fail_json(reader->import, &json, base);
	/* Frames that were never closed are open until the profile ends. */
	if (end <= MAX_VALUE && end > (double)now)
		return pass_time(reader, base, &now, (uint64_t)end);
	return 0;
}

/* ---- profiles ---- */

static int set_metric(struct speedscope_reader *reader)
{
	static const struct {
		const char *unit;
		double factor;
	} times[] = {
		{"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};
	struct profile *profile = reader->import->profile;
	const char *unit = reader->unit.length ? reader->unit.data : "none";

	reader->factor = 1;
	if (reader->note.is_given)
		return profile_add_metric(profile, reader->note.metric.data, reader->note.unit.data,
					  &reader->metric);
	for (size_t i = 0; i < ARRAY_LENGTH(times); i++) {
		if (string_equals(unit, times[i].unit)) {
			reader->factor = times[i].factor;
			return profile_add_metric(profile, "time", "nanoseconds", &reader->metric);
		}
	}
	if (string_equals(unit, "bytes"))
		return profile_add_metric(profile, "bytes", "bytes", &reader->metric);
	return profile_add_metric(profile, "samples", "count", &reader->metric);
}

static int set_thread(struct speedscope_reader *reader)
{
	struct profile *profile = reader->import->profile;
	struct string_table *strings = profile_get_strings(profile);
	const struct thread_note *note = &reader->note;
	struct thread thread = {.source = reader->import->source};
	const struct text *comm = note->is_given ? &note->comm : &reader->name;
	uint32_t process = STRING_EMPTY;
	uint32_t pid = 0;
	int err;

	if (note->is_given && note->pid <= UINT32_MAX && note->tid <= UINT32_MAX) {
		pid = (uint32_t)note->pid;
		thread.tid = (uint32_t)note->tid;
	}
	/* The name of the only profile is that of the file or of the program: it adds nothing. */
	if (comm->length && (note->is_given || reader->num_profiles > 1)) {
		err = string_table_add(strings, comm->data, comm->length, &thread.comm);
		if (err)
			return err;
	}
	if (note->process.length) {
		err = string_table_add(strings, note->process.data, note->process.length, &process);
		if (err)
			return err;
	}
	err = reader_find_process(&reader->processes, profile, pid,
				  process == STRING_EMPTY ? thread.comm : process, &thread.process);
	if (err)
		return err;
	return profile_add_thread(profile, &thread, &reader->thread);
}

static double take_double(struct json *json)
{
	enum json_token token = json_next(json);

	json_skip(json, token);
	return json_is_number(json, token) ? json_get_double(json) : 0;
}

static void read_member(struct speedscope_reader *reader, struct json *json)
{
	if (json_is(json, "name"))
		json_take_string(json, &reader->name);
	else if (json_is(json, "unit"))
		json_take_string(json, &reader->unit);
	else if (json_is(json, "samples"))
		json_take_position(json, 0, &reader->parts.samples);
	else if (json_is(json, "weights"))
		json_take_position(json, 0, &reader->parts.weights);
	else if (json_is(json, "events"))
		json_take_position(json, 0, &reader->parts.events);
	else if (json_is(json, THREAD_NOTE_KEY))
		thread_note_take(&reader->note, json);
	else if (json_is(json, "endValue"))
		reader->end_value = take_double(json);
	else
		json_skip_value(json);
}

static int read_profile(void *context, struct json *json)
{
	struct speedscope_reader *reader = context;
	enum json_token token;
	int err;

	text_truncate(&reader->name, 0);
	text_truncate(&reader->unit, 0);
	thread_note_clear(&reader->note);
	reader->parts = (struct speedscope_parts){0};
	reader->end_value = 0;
	while ((token = json_next(json)) == JSON_KEY)
		read_member(reader, json);
	if (reader->name.failed || reader->unit.failed || thread_note_has_failed(&reader->note))
		return -ENOMEM;
	if (token == JSON_FAILED)
		return 0;
	err = set_metric(reader);
	if (err)
		return err;
	err = known_samples_add(&reader->known_samples, reader->import->profile, reader->metric,
				reader->note.num_samples);
	if (err)
		return err;
	err = set_thread(reader);
	if (err)
		return err;
	reader->has_parts |= reader->parts.samples || reader->parts.events;
	if (reader->parts.samples) {
		err = read_samples(reader);
		if (err)
			return err;
	}
	return reader->parts.events ? read_events(reader) : 0;
}

static int read_profiles(struct speedscope_reader *reader, struct json *json)
{
	return reader_read_objects(reader->import, json, "a profile, which is an object",
				   read_profile, reader);
}

/* Make a pass over the text, with these two functions for the relevant members. */
static int read_text(struct speedscope_reader *reader,
		     int (*read_table)(struct speedscope_reader *reader, struct json *json),
		     int (*read_list)(struct speedscope_reader *reader, struct json *json))
{
	_cleanup_(json_release) struct json json =
		json_of(reader->import->data, reader->import->size);
	enum json_token token = json_next(&json);
	int err = 0;

	if (token != JSON_OBJECT && token != JSON_FAILED)
		return fail_expected(reader, json.offset, "an object with profiles");
	while ((token = json_next(&json)) == JSON_KEY) {
		if (read_table && json_is(&json, "shared"))
			err = read_table(reader, &json);
		else if (json_is(&json, "profiles"))
			err = read_list(reader, &json);
		else
			json_skip_value(&json);
		if (err)
			return err;
	}
	if (token != JSON_FAILED)
		token = json_next(&json);
	if (token == JSON_FAILED)
		return reader_fail_json(reader->import, &json, 0);
	return 0;
}

static void release_reader(struct speedscope_reader *reader)
{
	text_release(&reader->name);
	text_release(&reader->unit);
	thread_note_release(&reader->note);
	processes_release(&reader->processes);
	signed_sums_release(&reader->signed_sums);
	known_samples_release(&reader->known_samples);
	array_release(&reader->locations);
	array_release(&reader->open);
	array_release(&reader->stacks);
}

int speedscope_read(struct import *import)
{
	_cleanup_(release_reader) struct speedscope_reader reader = {.import = import};
	int err = read_text(&reader, read_shared, count_profiles);

	if (err)
		return err;
	if (!reader.has_profiles)
		return import_fail_byte(import, 0, "expected an object with profiles");
	err = read_text(&reader, NULL, read_profiles);
	if (err)
		return err;
	if (reader.num_profiles && !reader.has_parts)
		return import_fail_byte(import, 0, "expected profiles with samples or events");
	if (reader.has_decimals)
		import_warn(import, "weights with decimals are rounded");
	err = signed_sums_apply(&reader.signed_sums, import);
	if (err)
		return err;
	known_samples_apply(&reader.known_samples, import->profile);
	return 0;
}

/* Detected by the name of its schema, or by profiles and a shared table. */
enum detection speedscope_detect(const uint8_t *data, size_t size)
{
	_cleanup_(json_release) struct json json = json_of(data, size);
	bool has_profiles = false;
	bool has_shared = false;

	if (json_next(&json) != JSON_OBJECT)
		return DETECTED_NOT;
	while (json_next(&json) == JSON_KEY) {
		bool is_schema = json_is(&json, "$schema");
		enum json_token token;

		has_profiles |= json_is(&json, "profiles");
		has_shared |= json_is(&json, "shared");
		token = json_next(&json);
		if ((has_profiles && has_shared) ||
		    (is_schema && token == JSON_STRING &&
		     memmem(json.text, json.length, "speedscope", 10)))
			return DETECTED_SURE;
		json_skip(&json, token);
	}
	return DETECTED_NOT;
}
