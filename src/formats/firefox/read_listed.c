/*
 * Samples of the oldest raw files, of the browser's versions before 33: a list of objects, each with all of
 * its frames, outermost first.
 *
 *	"samples": [{"frames": [{"location": "(root)"}, {"location": "run (a.js:12)", "line": 13}],
 *	             "time": 10.5}]
 */
#include "formats/firefox/read.h"

#include <errno.h>

#define NS_PER_MS   1e6
#define MAX_TIME_MS 9e12
#define MAX_FRAMES  65536

bool firefox_samples_are_listed(const struct import *import, size_t position)
{
	return position < import->size && import->data[position] == '[';
}

/* Read a frame: an object, or its location alone. */
static int read_frame(struct firefox_code *code, struct json *json, enum json_token token,
		      uint32_t *stack)
{
	uint64_t line = 0;
	uint32_t location;
	int err;

	text_truncate(&code->text, 0);
	text_append_string(&code->text, "");
	if (token == JSON_STRING)
		text_append(&code->text, json->text, json->length);
	else if (token == JSON_OBJECT)
		while (json_next(json) == JSON_KEY) {
			if (json_is(json, "location"))
				json_take_string(json, &code->text);
			else if (json_is(json, "line"))
				line = json_take_u64(json);
			else
				json_skip_value(json);
		}
	else
		json_skip(json, token);
	if (code->text.failed)
		return -ENOMEM;
	err = firefox_code_add_text(code, line <= UINT32_MAX ? (uint32_t)line : 0, &location);
	return err ? err : profile_add_stack(code->import->profile, *stack, location, stack);
}

static int read_frames(struct firefox_code *code, struct json *json, uint32_t *ret)
{
	enum json_token token = json_next(json);
	size_t num_frames = 0;

	*ret = STACK_EMPTY;
	if (token != JSON_ARRAY) {
		json_skip(json, token);
		return 0;
	}
	while ((token = json_next(json)) != JSON_ARRAY_END && token != JSON_FAILED) {
		int err;

		if (++num_frames > MAX_FRAMES)
			return import_fail_byte(code->import, json->offset,
						"a stack of more than %d frames", MAX_FRAMES);
		err = read_frame(code, json, token, ret);
		if (err)
			return err;
	}
	return 0;
}

/* The object of a sample. */
static int read_sample(struct firefox_code *code, struct json *json, uint32_t thread,
		       uint32_t metric)
{
	struct import *import = code->import;
	size_t offset = json->offset;
	uint32_t stack = STACK_EMPTY;
	double time_ms = -1;
	int err;

	while (json_next(json) == JSON_KEY) {
		enum json_token token;

		if (json_is(json, "frames")) {
			err = read_frames(code, json, &stack);
			if (err)
				return err;
			continue;
		}
		if (!json_is(json, "time")) {
			json_skip_value(json);
			continue;
		}
		token = json_next(json);
		if (token == JSON_NUMBER)
			time_ms = json_get_double(json);
		json_skip(json, token);
	}
	err = reader_add_sample(import, offset, thread, stack, metric, 1);
	if (err)
		return err;
	if (!(time_ms >= 0 && time_ms < MAX_TIME_MS))
		return 0;
	return profile_add_timestamp(import->profile, thread, stack, metric, 1,
				     (uint64_t)(time_ms * NS_PER_MS));
}

int firefox_read_listed_samples(struct firefox_code *code, size_t position, uint32_t thread,
				uint32_t metric)
{
	const struct import *import = code->import;
	_cleanup_(json_release) struct json json =
		json_of(import->data + position, import->size - position);
	enum json_token token = json_next(&json);

	firefox_code_sort_libs(code);
	while ((token = json_next(&json)) != JSON_ARRAY_END && token != JSON_FAILED) {
		int err;

		if (token != JSON_OBJECT) {
			json_skip(&json, token);
			continue;
		}
		err = read_sample(code, &json, thread, metric);
		if (err)
			return err;
	}
	return 0;
}
