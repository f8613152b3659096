/*
 * Functions of V8, as a hostile process makes the sampling program send them. Whatever they hold, names are clean UTF-8 of
 * bounded length, and of a function that is known nothing is lost.
 *
 * The input is records, of which each is what its numbers say (below), and then as many bytes for the parts of the name and
 * for the file as these say, if there are that many.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "runtime/v8_function.h"
#include "runtime/v8_source.h"

#define MAX_RECORDS 16
/* One byte becomes two in UTF-8, or two three; an ellipsis has three. */
#define MAX_NAME (2 * WIRE_V8_NAME_PARTS * WIRE_V8_PART_BYTES + 3)
#define MAX_FILE (2 * WIRE_V8_FILE_BYTES + 3)

/* What is known of a function. */
struct known {
	char name[MAX_NAME + 1];
	char file[MAX_FILE + 1];
	bool is_there;
	bool is_name_missing;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct bytes *input, uint8_t *place, size_t size, size_t max_size)
{
	size_t left = bytes_left(input);

	size = size < left ? size : left;
	size = size < max_size ? size : max_size;
	memcpy(place, bytes_take(input, size), size);
}

static void take_text(struct bytes *input, struct wire_v8_text *text, size_t max_bytes)
{
	text->is_wide = bytes_u8(input) % 3;
	text->length = bytes_u16(input);
	text->num_bytes = bytes_u16(input) % (wire_u16)(max_bytes + 2);
}

static void take_record(struct bytes *input, struct wire_v8_function *ret)
{
	*ret = (struct wire_v8_function){0};
	ret->pid = bytes_u8(input);
	ret->is_builtin = bytes_u8(input);
	ret->num_parts = bytes_u8(input) % (WIRE_V8_NAME_PARTS + 2);
	ret->has_more = bytes_u8(input);
	for (size_t i = 0; i < WIRE_V8_NAME_PARTS && i < ret->num_parts; i++)
		take_text(input, &ret->name[i], WIRE_V8_PART_BYTES);
	take_text(input, &ret->file, WIRE_V8_FILE_BYTES);
	if (!bytes_left(input))
		return;
	for (size_t i = 0; i < WIRE_V8_NAME_PARTS; i++)
		take(input, ret->name_text[i], ret->name[i].num_bytes, sizeof(ret->name_text[i]));
	take(input, ret->file_text, ret->file.num_bytes, sizeof(ret->file_text));
}

static bool is_text(const struct wire_v8_text *text, size_t max_bytes)
{
	if (text->is_wide > 1 || text->num_bytes > max_bytes)
		return false;
	return text->is_wide ? text->num_bytes % 2 == 0 && text->num_bytes / 2u <= text->length
			     : text->num_bytes <= text->length;
}

/* Whether the numbers are those of a record that the program might send. */
static bool can_be(const struct wire_v8_function *record)
{
	if (record->num_parts > WIRE_V8_NAME_PARTS)
		return false;
	for (size_t i = 0; i < record->num_parts; i++)
		if (!is_text(&record->name[i], WIRE_V8_PART_BYTES))
			return false;
	return is_text(&record->file, WIRE_V8_FILE_BYTES);
}

/* What was known stays so, and is known of the function of this pid. */
static void compare(struct known *known, const struct v8_function *function)
{
	require_clean(function->name, MAX_NAME);
	require_clean(function->file, MAX_FILE);
	require(!function->is_name_missing || !function->name[0]);
	if (known->is_there) {
		require(known->is_name_missing || !function->is_name_missing);
		require(known->is_name_missing || !strcmp(known->name, function->name));
		require(!known->file[0] || !strcmp(known->file, function->file));
	}
	strcpy(known->name, function->name);
	strcpy(known->file, function->file);
	known->is_name_missing = function->is_name_missing;
	known->is_there = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct known known[UINT8_MAX + 1];
	struct v8_functions *functions = v8_functions_new();
	struct bytes input = bytes_of(data, size);
	struct wire_v8_function record;

	require(functions != NULL);
	for (int i = 0; i <= UINT8_MAX; i++)
		known[i].is_there = false;
	for (int i = 0; i < MAX_RECORDS && bytes_left(&input); i++) {
		const struct v8_function *function;
		int err;

		take_record(&input, &record);
		err = v8_functions_add(functions, &record, V8_NO_SOURCE);
		require(err == (can_be(&record) ? 0 : -EINVAL));
		function = v8_functions_find(functions, record.pid, 0, 0, 0);
		require((function != NULL) == (!err || known[record.pid].is_there));
		if (!function)
			continue;
		compare(&known[record.pid], function);
		if (!err)
			require(!v8_functions_add(functions, &record, V8_NO_SOURCE));
	}
	v8_functions_free(functions);
	return 0;
}
