/*
 * Profiles of stackprof, which samples Ruby: a dump in Ruby's Marshal format, or the same as JSON.
 *
 *	{"version": 1.2, "mode": "wall", "interval": 1000, "samples": 3, "missed_samples": 0,
 *	 "frames": {"7012": {"name": "Object#fib", "file": "/a.rb", "line": 3, "samples": 3, …}},
 *	 "raw": [2, 7010, 7012, 3]}
 *
 * Raw stacks have their length, their frames, outermost first, and their number of samples. Without
 * them (StackProf.run without raw: true) only the samples of functions are known: each function is
 * a stack of its own then, with a warning.
 *
 * Frames may follow the stacks: two passes.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/json.h"
#include "formats/reader.h"
#include "formats/stackprof/marshal.h"

#define NS_PER_US        1000u
#define MAX_FRAMES       65536
#define DETECTION_TOKENS 64

struct stackprof_frame {
	uint64_t id;
	uint32_t location;
	uint64_t samples; /* with it innermost */
};
INTERN_TABLE(stackprof_frames, struct stackprof_frame, id);

struct stackprof_reader {
	struct import *import;
	const uint8_t *data; /* JSON */
	size_t size;
	bool is_marshal;
	struct stackprof_frames frames;
	struct text mode;
	uint64_t interval;
	uint64_t missed;
	bool has_frames;
	bool has_raw;
	uint32_t thread;
	uint32_t metrics[2];
	size_t num_metrics;
	uint64_t factor; /* of the second metric */
};

/* Places in JSON that was made of a dump mean nothing to the user. */
static int fail(const struct stackprof_reader *reader, size_t offset, const char *expected)
{
	return import_fail_byte(reader->import, reader->is_marshal ? 0 : offset, "expected %s",
				expected);
}

static int add_location(struct stackprof_reader *reader, const struct text *name,
			const struct text *file, uint64_t line, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	struct frame frame = {.kind = FRAME_RUBY, .line = line <= UINT32_MAX ? (uint32_t)line : 0};
	int err = profile_add_frame_name(profile, name->length ? name->data : "", name->length,
					 &frame.name);

	if (err)
		return err;
	frame.full_name = frame.name;
	if (file->length)
		err = string_table_add(profile_get_strings(profile), file->data, file->length,
				       &frame.file);
	return err ? err : profile_add_frame_location(profile, &frame, ret);
}

/* The value of a frame; *frame gets its location and samples. */
static int read_frame(struct stackprof_reader *reader, struct json *json,
		      struct stackprof_frame *frame)
{
	_cleanup_(text_release) struct text name = {0};
	_cleanup_(text_release) struct text file = {0};
	uint64_t line = 0;
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT)
		return token == JSON_FAILED ? 0 : fail(reader, json->offset, "a frame");
	while ((token = json_next(json)) == JSON_KEY) {
		if (json_is(json, "name"))
			json_take_string(json, &name);
		else if (json_is(json, "file"))
			json_take_string(json, &file);
		else if (json_is(json, "line"))
			line = json_take_u64(json);
		else if (json_is(json, "samples"))
			frame->samples = json_take_u64(json);
		else
			json_skip_value(json);
	}
	if (name.failed || file.failed)
		return -ENOMEM;
	return add_location(reader, &name, &file, line, &frame->location);
}

static int read_frames(struct stackprof_reader *reader, struct json *json)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT)
		return token == JSON_FAILED ? 0 : fail(reader, json->offset, "frames by number");
	reader->has_frames = true;
	while ((token = json_next(json)) == JSON_KEY) {
		struct stackprof_frame frame = {0};
		uint32_t number;
		int err;

		if (!parse_u64(json->text, json->length, &frame.id))
			return fail(reader, json->offset, "the number of a frame");
		err = read_frame(reader, json, &frame);
		if (err)
			return err;
		if (stackprof_frames_find(&reader->frames, &frame) != HASH_INDEX_NONE)
			continue;
		err = stackprof_frames_add(&reader->frames, &frame, &number);
		if (err)
			return err;
	}
	return 0;
}

/* The first pass. */
static int read_keys(struct stackprof_reader *reader, struct json *json)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT)
		return token == JSON_FAILED ? 0
					    : fail(reader, json->offset, "a profile of stackprof");
	while ((token = json_next(json)) == JSON_KEY) {
		int err = 0;

		if (json_is(json, "mode"))
			json_take_string(json, &reader->mode);
		else if (json_is(json, "interval"))
			reader->interval = json_take_u64(json);
		else if (json_is(json, "missed_samples"))
			reader->missed = json_take_u64(json);
		else if (json_is(json, "frames") && !reader->has_frames)
			err = read_frames(reader, json);
		else if (json_is(json, "raw")) {
			token = json_next(json);
			reader->has_raw |= token == JSON_ARRAY;
			json_skip(json, token);
		} else
			json_skip_value(json);
		if (err)
			return err;
	}
	return reader->mode.failed ? -ENOMEM : 0;
}

static int add_metrics(struct stackprof_reader *reader)
{
	struct profile *profile = reader->import->profile;
	const char *mode = reader->mode.length ? reader->mode.data : "samples";
	bool is_time = string_equals(mode, "wall") || string_equals(mode, "cpu");
	int err = profile_add_metric(profile, "samples", "count", &reader->metrics[0]);

	reader->num_metrics = 1;
	if (err || !reader->interval || (!is_time && !string_equals(mode, "object")))
		return err;
	if (__builtin_mul_overflow(reader->interval, is_time ? NS_PER_US : 1, &reader->factor))
		return fail(reader, 0, "an interval that 64 bits hold");
	reader->num_metrics = 2;
	return profile_add_metric(profile, is_time ? mode : "objects",
				  is_time ? "nanoseconds" : "count", &reader->metrics[1]);
}

static int add_sample(struct stackprof_reader *reader, size_t offset, uint32_t stack,
		      uint64_t count)
{
	uint64_t weight;
	int err = reader_add_sample(reader->import, offset, reader->thread, stack,
				    reader->metrics[0], count);

	if (err || reader->num_metrics < 2)
		return err;
	if (__builtin_mul_overflow(count, reader->factor, &weight))
		return fail(reader, offset, "a count whose time 64 bits hold");
	err = profile_add_sample(reader->import->profile, reader->thread, stack, reader->metrics[1],
				 weight);
	return err == -EOVERFLOW ? fail(reader, offset, "times whose sum 64 bits hold") : err;
}

/* The next number of the raw stacks. *ret_ends: the list ends instead. */
static int take_raw(struct stackprof_reader *reader, struct json *json, bool *ret_ends,
		    uint64_t *ret)
{
	enum json_token token = json_next(json);

	*ret_ends = token == JSON_ARRAY_END;
	if (*ret_ends || (json_is_number(json, token) && json_get_u64(json, ret)))
		return 0;
	return fail(reader, json->offset, "a number from 0");
}

static int read_raw_stack(struct stackprof_reader *reader, struct json *json, uint64_t depth)
{
	uint32_t stack = STACK_EMPTY;
	uint64_t count = 0;
	bool ends;
	int err;

	if (depth > MAX_FRAMES)
		return fail(reader, json->offset, "a stack of at most 65536 frames");
	for (uint64_t i = 0; i < depth; i++) {
		struct stackprof_frame frame = {0};
		uint32_t found;

		err = take_raw(reader, json, &ends, &frame.id);
		if (err)
			return err;
		found = ends ? HASH_INDEX_NONE : stackprof_frames_find(&reader->frames, &frame);
		if (found == HASH_INDEX_NONE)
			return fail(reader, json->offset, "the number of a frame");
		err = profile_add_stack(reader->import->profile, stack,
					reader->frames.items[found].location, &stack);
		if (err)
			return err;
	}
	err = take_raw(reader, json, &ends, &count);
	if (err)
		return err;
	if (ends)
		return fail(reader, json->offset, "how many samples a stack has");
	return add_sample(reader, json->offset, stack, count);
}

/* The second pass: the raw stacks in the outermost object. */
static int read_raw(struct stackprof_reader *reader, struct json *json)
{
	enum json_token token = json_next(json);

	while (token != JSON_END && token != JSON_FAILED) {
		uint64_t depth = 0;
		bool ends = false;

		token = json_next(json);
		if (token != JSON_KEY)
			continue;
		if (!json_is(json, "raw")) {
			json_skip_value(json);
			continue;
		}
		token = json_next(json);
		while (token == JSON_ARRAY && !ends) {
			int err = take_raw(reader, json, &ends, &depth);

			if (!err && !ends)
				err = read_raw_stack(reader, json, depth);
			if (err)
				return err;
		}
	}
	return 0;
}

static int add_functions(struct stackprof_reader *reader)
{
	import_warn(reader->import,
		    "has no stacks (recorded without raw: true); each function becomes a "
		    "stack of its own");
	array_for_each (&reader->frames, frame) {
		uint32_t stack;
		int err;

		if (!frame->samples)
			continue;
		err = profile_add_stack(reader->import->profile, STACK_EMPTY, frame->location,
					&stack);
		if (err)
			return err;
		err = add_sample(reader, 0, stack, frame->samples);
		if (err)
			return err;
	}
	return 0;
}

static int read_json(struct stackprof_reader *reader)
{
	_cleanup_(json_release) struct json first = json_of(reader->data, reader->size);
	_cleanup_(json_release) struct json second = json_of(reader->data, reader->size);
	enum json_token token;
	int err = read_keys(reader, &first);

	if (err)
		return err;
	while ((token = json_next(&first)) != JSON_END)
		if (token == JSON_FAILED)
			return reader_fail_json(reader->import, &first, 0);
	if (!reader->has_frames)
		return fail(reader, 0, "the frames of a profile of stackprof");
	err = reader_add_anonymous_thread(reader->import, &reader->thread);
	if (err)
		return err;
	err = add_metrics(reader);
	if (err)
		return err;
	reader->import->counts.lost_samples += reader->missed;
	return reader->has_raw ? read_raw(reader, &second) : add_functions(reader);
}

static int read_dump(struct stackprof_reader *reader)
{
	_cleanup_(text_release) struct text json = {0};
	struct import *import = reader->import;
	const char *reason;
	size_t offset;
	int err = marshal_to_json(import->data, import->size, &json, &offset, &reason);

	if (err == -EBADMSG)
		return import_fail_byte(import, offset, "%s", reason);
	if (err)
		return err;
	reader->data = (const uint8_t *)json.data;
	reader->size = json.length;
	return read_json(reader);
}

static int read_stackprof(struct import *import)
{
	struct stackprof_reader reader = {
		.import = import,
		.data = import->data,
		.size = import->size,
		.is_marshal = marshal_detect(import->data, import->size),
	};
	int err = reader.is_marshal ? read_dump(&reader) : read_json(&reader);

	stackprof_frames_release(&reader.frames);
	text_release(&reader.mode);
	return err;
}

/* A dump names its keys in its first bytes. */
static bool is_dump(const uint8_t *data, size_t size)
{
	return marshal_detect(data, size) &&
	       memmem(data, size < 512 ? size : 512, "missed_samples", strlen("missed_samples"));
}

static enum detection detect(const uint8_t *data, size_t size)
{
	_cleanup_(json_release) struct json json = json_of(data, size);
	bool has_mode = false;
	bool has_missed = false;

	if (is_dump(data, size))
		return DETECTED_SURE;
	if (json_next(&json) != JSON_OBJECT)
		return DETECTED_NOT;
	for (int i = 0; i < DETECTION_TOKENS; i++) {
		enum json_token token = json_next(&json);

		if (token == JSON_FAILED || token == JSON_END)
			break;
		if (token != JSON_KEY || json_get_depth(&json) != 1)
			continue;
		has_mode |= json_is(&json, "mode");
		has_missed |= json_is(&json, "missed_samples");
	}
	return has_mode && has_missed ? DETECTED_SURE : DETECTED_NOT;
}

const struct format format_stackprof = {
	.name = "stackprof",
	.extension = "",
	.summary = "dumps of stackprof (Ruby), and its JSON",
	.producers = "stackprof 0.2.21",
	.detect = detect,
	.read = read_stackprof,
};
