/*
 * Code objects of CPython, as a hostile process makes the sampling program send them, and their tables of lines.
 * Whatever they hold, names are clean UTF-8 of bounded length, and part of a table gives no other line than the whole.
 *
 * The input is records, of which each is what its numbers say (below), and then as many bytes for the name, the file
 * and the table as these say, if there are that many.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "runtime/python/lines.h"
#include "runtime/python_code.h"

#define MAX_RECORDS 16
/* A byte becomes two in UTF-8, or three with a second one; an ellipsis has three. */
#define MAX_NAME (2 * WIRE_PYTHON_NAME_BYTES + 3)
#define MAX_FILE (2 * WIRE_PYTHON_FILE_BYTES + 3)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct bytes *input, uint8_t *place, size_t size, size_t max_size)
{
	size_t left = bytes_left(input);

	size = size < left ? size : left;
	size = size < max_size ? size : max_size;
	memcpy(place, bytes_take(input, size), size);
}

static void take_text(struct bytes *input, struct wire_python_text *text, size_t max_bytes)
{
	text->kind = bytes_u8(input);
	text->is_ascii = bytes_u8(input);
	text->length = bytes_u16(input);
	text->num_bytes = bytes_u16(input) % (wire_u16)(max_bytes + 2);
}

static void take_record(struct bytes *input, struct wire_python_code *ret)
{
	*ret = (struct wire_python_code){0};
	ret->pid = bytes_u8(input);
	ret->minor = bytes_u8(input) % 20;
	ret->first_line = bytes_u32(input);
	ret->line_bytes = bytes_u16(input);
	ret->num_line_bytes = bytes_u16(input) % (WIRE_PYTHON_LINE_BYTES + 2);
	take_text(input, &ret->name, WIRE_PYTHON_NAME_BYTES);
	take_text(input, &ret->file, WIRE_PYTHON_FILE_BYTES);
	if (!bytes_left(input))
		return;
	take(input, ret->name_text, ret->name.num_bytes, sizeof(ret->name_text));
	take(input, ret->file_text, ret->file.num_bytes, sizeof(ret->file_text));
	take(input, ret->lines, ret->num_line_bytes, sizeof(ret->lines));
}

/* The bytes are on the heap, so that none behind them can be read. */
static uint32_t find_line(const struct python_line_table *whole, size_t size, uint32_t instruction)
{
	struct python_line_table part = *whole;
	uint8_t *copy = malloc(size ? size : 1);
	uint32_t line;

	require(copy != NULL);
	memcpy(copy, whole->bytes, size);
	part.bytes = copy;
	part.num_bytes = size;
	part.is_cut = whole->is_cut || size < whole->num_bytes;
	line = python_line_table_find(&part, instruction);
	require(line <= INT32_MAX);
	free(copy);
	return line;
}

static void require_lines(const struct wire_python_code *record)
{
	struct python_line_table whole = {
		.bytes = record->lines,
		.num_bytes = record->num_line_bytes,
		.first_line = record->first_line,
		.minor = (uint8_t)record->minor,
		.is_cut = record->line_bytes > record->num_line_bytes,
	};

	for (uint32_t i = 0; i < 24; i++) {
		uint32_t instruction = i < 8 ? 2 * i : i < 23 ? i * i : UINT32_MAX;
		uint32_t line = find_line(&whole, whole.num_bytes, instruction);
		uint32_t part = find_line(&whole, whole.num_bytes / 2, instruction);

		require(!part || part == line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct python_codes *codes = python_codes_new();
	struct bytes input = bytes_of(data, size);
	struct wire_python_code record;

	require(codes != NULL);
	for (int i = 0; i < MAX_RECORDS && bytes_left(&input); i++) {
		const struct python_code *code;
		int err;

		take_record(&input, &record);
		err = python_codes_add(codes, &record);
		code = python_codes_find(codes, record.pid, 0, 0, 0);
		require(!err || err == -EINVAL);
		require(err || code);
		if (!code)
			continue;
		require_clean(code->name, MAX_NAME);
		require_clean(code->file, MAX_FILE);
		require(code->first_line <= INT32_MAX);
		(void)python_code_get_line(code, 100);
		if (!err)
			require_lines(&record);
	}
	python_codes_free(codes);
	return 0;
}
