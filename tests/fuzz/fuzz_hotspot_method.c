/*
 * Methods of HotSpot, as a hostile process makes the sampling program send them. Whatever they hold, names are clean UTF-8 of
 * bounded length, lines are numbers that class files can have, and of a method that is known nothing is lost.
 *
 * The input is records, of which each is what its numbers say (below), and then as many bytes for the class, the method, the
 * file and the lines as these say, if there are that many.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "runtime/hotspot_method.h"

#define MAX_RECORDS 16
/* One byte becomes three in UTF-8, as an ellipsis has; between a class and its method is a dot. */
#define MAX_NAME (3 * (WIRE_HOTSPOT_CLASS_BYTES + WIRE_HOTSPOT_NAME_BYTES) + 7)
#define MAX_FILE (3 * WIRE_HOTSPOT_FILE_BYTES + 3)

/* What is known of a method. */
struct known {
	char name[MAX_NAME + 1];
	char file[MAX_FILE + 1];
	uint32_t first_line;
	bool is_there;
	bool has_lines;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct bytes *input, uint8_t *place, size_t size, size_t max_size)
{
	size_t left = bytes_left(input);

	size = size < left ? size : left;
	size = size < max_size ? size : max_size;
	if (size)
		memcpy(place, bytes_take(input, size), size);
}

static void take_text(struct bytes *input, struct wire_hotspot_text *text, size_t max_bytes)
{
	text->length = bytes_u16(input);
	text->num_bytes = bytes_u16(input) % (wire_u16)(max_bytes + 2);
}

static void take_record(struct bytes *input, struct wire_hotspot_method *ret)
{
	*ret = (struct wire_hotspot_method){0};
	ret->pid = bytes_u8(input);
	ret->major = bytes_u8(input);
	ret->method = bytes_u8(input); /* 0: it is none */
	ret->code_bytes = bytes_u16(input);
	ret->num_line_bytes = bytes_u16(input) % (WIRE_HOTSPOT_LINE_BYTES + 2);
	take_text(input, &ret->class_name, WIRE_HOTSPOT_CLASS_BYTES);
	take_text(input, &ret->name, WIRE_HOTSPOT_NAME_BYTES);
	take_text(input, &ret->file, WIRE_HOTSPOT_FILE_BYTES);
	take(input, ret->class_text, ret->class_name.num_bytes, sizeof(ret->class_text));
	take(input, ret->name_text, ret->name.num_bytes, sizeof(ret->name_text));
	take(input, ret->file_text, ret->file.num_bytes, sizeof(ret->file_text));
	take(input, ret->lines, ret->num_line_bytes, sizeof(ret->lines));
}

static bool is_text(const struct wire_hotspot_text *text, size_t max_bytes)
{
	return text->num_bytes <= max_bytes && text->num_bytes <= text->length;
}

/* Whether the numbers are those of a record that the program might send. */
static bool can_be(const struct wire_hotspot_method *record)
{
	return is_text(&record->class_name, WIRE_HOTSPOT_CLASS_BYTES) &&
	       is_text(&record->name, WIRE_HOTSPOT_NAME_BYTES) &&
	       is_text(&record->file, WIRE_HOTSPOT_FILE_BYTES) &&
	       record->num_line_bytes <= WIRE_HOTSPOT_LINE_BYTES;
}

static void require_lines(const struct hotspot_method *method)
{
	require(method->first_line == hotspot_method_get_line(method, 0));
	for (uint32_t i = 0; i < 300; i++)
		require(hotspot_method_get_line(method, i) <= UINT16_MAX);
	require(!hotspot_method_get_line(method, method->code_bytes));
	require(!hotspot_method_get_line(method, WIRE_HOTSPOT_NO_BYTECODE));
}

/* What was known stays so, and is known of the method of this pid. */
static void compare(struct known *known, const struct hotspot_method *method)
{
	require_clean(method->name, MAX_NAME);
	require_clean(method->file, MAX_FILE);
	require_lines(method);
	if (known->is_there) {
		require(!known->name[0] || !strcmp(known->name, method->name));
		require(!known->file[0] || !strcmp(known->file, method->file));
		require(!known->has_lines || known->first_line == method->first_line);
	}
	strcpy(known->name, method->name);
	strcpy(known->file, method->file);
	known->first_line = method->first_line;
	known->has_lines = method->num_line_bytes != 0;
	known->is_there = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct known known[UINT8_MAX + 1];
	struct hotspot_methods *methods = hotspot_methods_new();
	struct bytes input = bytes_of(data, size);
	struct wire_hotspot_method record;

	require(methods != NULL);
	for (int i = 0; i <= UINT8_MAX; i++)
		known[i].is_there = false;
	for (int i = 0; i < MAX_RECORDS && bytes_left(&input); i++) {
		const struct hotspot_method *method;
		int err;

		take_record(&input, &record);
		err = hotspot_methods_add(methods, &record);
		require(err == (can_be(&record) ? 0 : -EINVAL));
		method = hotspot_methods_find(methods, record.pid, 0, 0, 0);
		require((method != NULL) == (!err || known[record.pid].is_there));
		if (!method)
			continue;
		compare(&known[record.pid], method);
		if (!err)
			require(!hotspot_methods_add(methods, &record));
	}
	hotspot_methods_free(methods);
	return 0;
}
