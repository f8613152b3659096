/*
 * Pyroscope's JSON: a flame graph as rows of bars.
 *
 *	{"flamebearer": {"names": ["total", "main", "read"],
 *	                 "levels": [[0, 5, 0, 0], [0, 5, 1, 1], [0, 4, 4, 2]]},
 *	 "metadata": {"format": "single", "units": "samples", "sampleRate": 100}}
 *
 * A bar has its distance from the end of the bar before, its width, its own weight and its name.
 * Its caller is the bar of the row above at the same place. In a comparison ("double") all three
 * numbers are there twice, before and after, and the places count in both.
 *
 * The names and the rows may be in any order: numbers are kept, and stacks are made at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "formats/reader.h"

#define SINGLE_NUMBERS 4
#define DOUBLE_NUMBERS 7

#define DETECTION_TOKENS 100000

#define NS_PER_S          1000000000u
#define MIN_CPU_TIME_RATE 100000000u

/* A bar of the row above, or of this one. */
struct bar {
	uint64_t start;
	uint64_t end;
	uint32_t stack;
};

struct bars {
	ARRAY(struct bar) items;
};

struct flamebearer_reader {
	struct import *import;
	ARRAY(uint32_t) locations; /* by name */
	ARRAY(uint64_t) numbers;   /* of all rows, one after the other */
	ARRAY(size_t) row_ends;    /* in numbers */
	bool has_levels;
	bool is_double;
	struct text units;
	uint64_t sample_rate; /* per second; of CPU time in such units, how many are a second */
	uint64_t unit_ns;     /* factor of all weights */
	uint32_t thread;
	uint32_t metrics[2];
	struct bars above;
	struct bars row;
};

static void release(struct flamebearer_reader *reader)
{
	array_release(&reader->locations);
	array_release(&reader->numbers);
	array_release(&reader->row_ends);
	array_release(&reader->above.items);
	array_release(&reader->row.items);
	text_release(&reader->units);
}

static int add_name(struct flamebearer_reader *reader, const struct json *json)
{
	struct profile *profile = reader->import->profile;
	struct frame frame = {0};
	size_t length = json->length;
	uint32_t *location = array_add(&reader->locations);
	int err;

	if (!location)
		return -ENOMEM;
	err = reader_strip_annotation(profile, json->text, &length, &frame);
	if (err)
		return err;
	err = profile_add_frame_name(profile, json->text, length, &frame.name);
	if (err)
		return err;
	frame.full_name = frame.name;
	return profile_add_frame_location(profile, &frame, location);
}

static int fail(struct flamebearer_reader *reader, const struct json *json, const char *expected)
{
	return import_fail_byte(reader->import, json->offset, "expected %s", expected);
}

/* After the key: a list; the calls of read() get its items. */
static int read_list(struct flamebearer_reader *reader, struct json *json, const char *expected,
		     int (*read)(struct flamebearer_reader *, struct json *, enum json_token))
{
	enum json_token token = json_next(json);

	if (token != JSON_ARRAY)
		return token == JSON_FAILED ? 0 : fail(reader, json, expected);
	while ((token = json_next(json)) != JSON_ARRAY_END) {
		int err;

		if (token == JSON_FAILED)
			return 0; /* the caller's next token reports it */
		err = read(reader, json, token);
		if (err)
			return err;
	}
	return 0;
}

static int read_name(struct flamebearer_reader *reader, struct json *json, enum json_token token)
{
	if (token != JSON_STRING)
		return fail(reader, json, "a name");
	return add_name(reader, json);
}

static int read_row(struct flamebearer_reader *reader, struct json *json, enum json_token token)
{
	size_t *end;

	if (token != JSON_ARRAY)
		return fail(reader, json, "a row of bars");
	while ((token = json_next(json)) != JSON_ARRAY_END) {
		uint64_t *added;
		uint64_t number;

		if (token == JSON_FAILED)
			return 0;
		if (!json_is_number(json, token) || !json_get_u64(json, &number))
			return fail(reader, json, "a number from 0");
		added = array_add(&reader->numbers);
		if (!added)
			return -ENOMEM;
		*added = number;
	}
	end = array_add(&reader->row_ends);
	if (!end)
		return -ENOMEM;
	*end = reader->numbers.length;
	return 0;
}

static int read_flamebearer(struct flamebearer_reader *reader, struct json *json)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT)
		return token == JSON_FAILED ? 0 : fail(reader, json, "an object");
	while ((token = json_next(json)) == JSON_KEY) {
		int err = 0;

		if (json_is(json, "names") && !reader->locations.length) {
			err = read_list(reader, json, "a list of names", read_name);
		} else if (json_is(json, "levels") && !reader->has_levels) {
			reader->has_levels = true;
			err = read_list(reader, json, "a list of rows", read_row);
		} else {
			json_skip_value(json);
		}
		if (err)
			return err;
	}
	return 0;
}

static int read_metadata(struct flamebearer_reader *reader, struct json *json)
{
	enum json_token token = json_next(json);
	_cleanup_(text_release) struct text format = {0};

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while ((token = json_next(json)) == JSON_KEY) {
		if (json_is(json, "units"))
			json_take_string(json, &reader->units);
		else if (json_is(json, "sampleRate"))
			reader->sample_rate = json_take_u64(json);
		else if (json_is(json, "format"))
			json_take_string(json, &format);
		else
			json_skip_value(json);
	}
	reader->is_double = format.length && string_equals(format.data, "double");
	return format.failed || reader->units.failed ? -ENOMEM : 0;
}

static int read_document(struct flamebearer_reader *reader)
{
	struct import *import = reader->import;
	_cleanup_(json_release) struct json json = json_of(import->data, import->size);
	enum json_token token = json_next(&json);

	if (token == JSON_OBJECT)
		while ((token = json_next(&json)) == JSON_KEY) {
			int err = 0;

			if (json_is(&json, "flamebearer"))
				err = read_flamebearer(reader, &json);
			else if (json_is(&json, "metadata"))
				err = read_metadata(reader, &json);
			else
				json_skip_value(&json);
			if (err)
				return err;
		}
	while (token != JSON_END && token != JSON_FAILED)
		token = json_next(&json);
	if (token == JSON_FAILED)
		return reader_fail_json(import, &json, 0);
	if (!reader->has_levels)
		return import_fail_byte(import, 0, "expected the rows of a flamebearer");
	return 0;
}

static const char *get_unit(const char *units)
{
	if (string_ends_with(units, "nanoseconds"))
		return "nanoseconds";
	return string_equals(units, "bytes") ? "bytes" : "count";
}

/*
 * Pyroscope calls CPU time samples, too: the rate is then 100 million or a billion a second. No profiler
 * samples as often.
 */
static bool is_cpu_time(const struct flamebearer_reader *reader)
{
	return reader->sample_rate >= MIN_CPU_TIME_RATE && reader->sample_rate <= NS_PER_S &&
	       (!reader->units.length || string_equals(reader->units.data, "samples"));
}

static int add_metrics(struct flamebearer_reader *reader)
{
	struct profile *profile = reader->import->profile;
	const char *name = reader->units.length ? reader->units.data : "samples";
	const char *unit = get_unit(name);
	int err;

	reader->unit_ns = 1;
	if (is_cpu_time(reader)) {
		reader->unit_ns = NS_PER_S / reader->sample_rate;
		name = "cpu";
		unit = "nanoseconds";
	}
	if (!reader->is_double)
		return profile_add_metric(profile, name, unit, &reader->metrics[0]);
	err = profile_add_metric(profile, METRIC_BEFORE, unit, &reader->metrics[0]);
	return err ? err : profile_add_metric(profile, METRIC_AFTER, unit, &reader->metrics[1]);
}

static int fail_bar(const struct flamebearer_reader *reader, size_t row, const char *reason)
{
	return import_fail_byte(reader->import, 0, "row %zu of the flamebearer: %s", row, reason);
}

/* The bar of the row above at this place. `next` is the first bar to check. */
static bool find_caller(const struct bars *above, uint64_t start, uint64_t end, size_t *next,
			uint32_t *ret_stack)
{
	while (*next < above->items.length && above->items.items[*next].end <= start)
		++*next;
	if (*next == above->items.length || above->items.items[*next].start > start ||
	    above->items.items[*next].end < end)
		return false;
	*ret_stack = above->items.items[*next].stack;
	return true;
}

static int add_weights(struct flamebearer_reader *reader, const uint64_t *numbers, uint32_t stack)
{
	for (size_t side = 0; side < (reader->is_double ? 2u : 1u); side++) {
		uint64_t weight = numbers[3 * side + 2];
		int err;

		if (__builtin_mul_overflow(weight, reader->unit_ns, &weight))
			return import_fail_byte(reader->import, 0, "a weight of over 64 bits");
		err = weight ? reader_add_sample(reader->import, 0, reader->thread, stack,
						 reader->metrics[side], weight)
			     : 0;

		if (err)
			return err;
	}
	return 0;
}

/* The row above the first is one bar as wide as everything. */
static int add_bar(struct flamebearer_reader *reader, size_t row, const uint64_t *numbers,
		   uint64_t *end, size_t *next)
{
	size_t count = reader->is_double ? DOUBLE_NUMBERS : SINGLE_NUMBERS;
	uint64_t name = numbers[count - 1];
	struct bar bar = {.stack = STACK_EMPTY};
	struct bar *added;
	uint64_t start = *end;
	int err;

	for (size_t side = 0; side < (reader->is_double ? 2u : 1u); side++)
		if (__builtin_add_overflow(start, numbers[3 * side], &start))
			return fail_bar(reader, row, "its places exceed 64 bits");
	*end = start;
	for (size_t side = 0; side < (reader->is_double ? 2u : 1u); side++)
		if (__builtin_add_overflow(*end, numbers[3 * side + 1], end))
			return fail_bar(reader, row, "its places exceed 64 bits");
	if (name >= reader->locations.length)
		return fail_bar(reader, row, "a bar without a name");
	/* Without a width there is nothing in it, and no place to tell the caller by. */
	if (*end == start)
		return 0;
	bar.start = start;
	bar.end = *end;
	if (row && !find_caller(&reader->above, start, *end, next, &bar.stack))
		return fail_bar(reader, row, "a bar without a caller in the row above");
	/* The first row is the sum, which is not a function. */
	if (row) {
		err = profile_add_stack(reader->import->profile, bar.stack,
					reader->locations.items[name], &bar.stack);
		if (err)
			return err;
	}
	added = array_add(&reader->row.items);
	if (!added)
		return -ENOMEM;
	*added = bar;
	return add_weights(reader, numbers, bar.stack);
}

static int add_row(struct flamebearer_reader *reader, size_t row, size_t start, size_t row_end)
{
	size_t count = reader->is_double ? DOUBLE_NUMBERS : SINGLE_NUMBERS;
	struct bars above;
	uint64_t end = 0;
	size_t next = 0;

	if ((row_end - start) % count)
		return fail_bar(reader, row, "it ends within a bar");
	reader->row.items.length = 0;
	for (size_t i = start; i < row_end; i += count) {
		int err = add_bar(reader, row, &reader->numbers.items[i], &end, &next);

		if (err)
			return err;
	}
	above = reader->above;
	reader->above = reader->row;
	reader->row = above;
	return 0;
}

static int read_profile(struct flamebearer_reader *reader)
{
	size_t start = 0;
	int err = read_document(reader);

	if (err)
		return err;
	err = reader_add_anonymous_thread(reader->import, &reader->thread);
	if (err)
		return err;
	err = add_metrics(reader);
	if (err)
		return err;
	for (size_t row = 0; row < reader->row_ends.length; row++) {
		err = add_row(reader, row, start, reader->row_ends.items[row]);
		if (err)
			return err;
		start = reader->row_ends.items[row];
	}
	return 0;
}

static int flamebearer_read(struct import *import)
{
	_cleanup_(release) struct flamebearer_reader reader = {.import = import};

	return read_profile(&reader);
}

/* The key in the outermost object, perhaps behind others. */
static enum detection detect(const uint8_t *data, size_t size)
{
	_cleanup_(json_release) struct json json = json_of(data, size);
	enum json_token token = json_next(&json);

	if (token != JSON_OBJECT)
		return DETECTED_NOT;
	for (int i = 0; i < DETECTION_TOKENS; i++) {
		token = json_next(&json);
		if (token == JSON_FAILED || token == JSON_END)
			break;
		if (token == JSON_KEY && json_get_depth(&json) == 1 &&
		    json_is(&json, "flamebearer"))
			return DETECTED_SURE;
	}
	return DETECTED_NOT;
}

const struct format format_flamebearer = {
	.name = "flamebearer",
	.extension = "",
	.summary = "Pyroscope's JSON: flame graphs and comparisons",
	.detect = detect,
	.read = flamebearer_read,
};
