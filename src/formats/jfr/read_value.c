/*
 * Values as the fields of events and constants hold them: numbers, strings in five encodings, and
 * structs, arrays and keys of constants as the metadata says.
 */
#include <string.h>

#include "formats/jfr/read_chunk.h"

/* A class that contains itself must end; no class of the JDK is as deep. */
#define MAX_DEPTH 24

enum string_encoding {
	STRING_NULL,
	STRING_IS_EMPTY,
	STRING_CONSTANT,
	STRING_UTF8,
	STRING_UTF16,
	STRING_LATIN1,
};

static uint32_t find_string_class(const struct jfr_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->classes.length; i++)
		if (chunk->classes.items[i].kind == JFR_TEXT)
			return i;
	return JFR_NONE;
}

void jfr_read_string(const struct jfr_chunk *chunk, struct jfr_cursor *input, struct text *text)
{
	uint64_t key = jfr_read_plain_string(input, text);
	const struct jfr_constant *constant;
	struct jfr_cursor pool = chunk->input;

	if (!key)
		return;
	constant = jfr_chunk_find_constant(chunk, find_string_class(chunk), key);
	if (!constant)
		return;
	pool.offset = constant->offset;
	(void)jfr_read_plain_string(&pool, text); /* a constant that names another one is empty */
}

static void skip_fields(const struct jfr_chunk *chunk, struct jfr_cursor *input, uint32_t class,
			int depth);

/* One value that is not an array and not a key. */
static uint64_t read_single(const struct jfr_chunk *chunk, struct jfr_cursor *input, uint32_t class,
			    int depth)
{
	const struct jfr_class *type = &chunk->classes.items[class];
	uint64_t offset = input->offset;

	switch ((enum jfr_kind)type->kind) {
	case JFR_INTEGER:
		return jfr_read_integer(input, type->width);
	case JFR_REAL:
		return jfr_read_big_endian(input, type->width);
	case JFR_TEXT:
		(void)jfr_read_plain_string(input, NULL);
		break;
	case JFR_STRUCT:
		skip_fields(chunk, input, class, depth + 1);
		break;
	}
	return offset;
}

static uint64_t read_value(const struct jfr_chunk *chunk, struct jfr_cursor *input,
			   const struct jfr_field *field, int depth)
{
	uint64_t offset = input->offset;
	uint64_t count;

	if (depth > MAX_DEPTH)
		input->failed = true;
	if (!field->is_array)
		return field->is_pooled ? jfr_read_long(input)
					: read_single(chunk, input, field->class, depth);
	count = jfr_read_int(input);
	for (uint64_t i = 0; i < count && !input->failed; i++) {
		size_t before = input->offset;

		if (field->is_pooled)
			(void)jfr_read_long(input); /* passed over */
		else
			(void)read_single(chunk, input, field->class, depth);
		/* Elements without bytes could be any number. */
		if (input->offset == before)
			input->failed = true;
	}
	return offset;
}

static void skip_fields(const struct jfr_chunk *chunk, struct jfr_cursor *input, uint32_t class,
			int depth)
{
	const struct jfr_class *type = &chunk->classes.items[class];

	if (type->is_endless)
		input->failed = true;
	for (uint32_t i = 0; i < type->num_fields && !input->failed; i++)
		(void)read_value(chunk, input, &chunk->fields.items[type->first_field + i], depth);
}

uint64_t jfr_read_field(const struct jfr_chunk *chunk, struct jfr_cursor *input,
			const struct jfr_field *field)
{
	return read_value(chunk, input, field, 0);
}

void jfr_read_struct(const struct jfr_chunk *chunk, struct jfr_cursor *input, uint32_t class,
		     struct jfr_values *ret)
{
	const struct jfr_class *type = &chunk->classes.items[class];

	for (int role = 0; role < NUM_JFR_ROLES; role++)
		ret->classes[role] = JFR_NONE;
	if (type->is_endless)
		input->failed = true;
	for (uint32_t i = 0; i < type->num_fields && !input->failed; i++) {
		const struct jfr_field *field = &chunk->fields.items[type->first_field + i];

		ret->numbers[field->role] = read_value(chunk, input, field, 0);
		ret->classes[field->role] = field->class;
	}
}

/* The text is ASCII, in which all encodings give one unit a character. */
bool jfr_chunk_string_equals(const struct jfr_chunk *chunk, uint32_t string, const char *text)
{
	struct jfr_cursor input = chunk->input;
	size_t length = strlen(text);
	uint8_t encoding;

	if (string >= chunk->strings.length)
		return false;
	input.offset = chunk->strings.items[string].offset;
	encoding = jfr_read_byte(&input);
	if (encoding < STRING_UTF8 || encoding > STRING_LATIN1 || jfr_read_int(&input) != length)
		return false;
	for (size_t i = 0; i < length; i++) {
		uint64_t unit = encoding == STRING_UTF16 ? jfr_read_integer(&input, 2)
							 : jfr_read_byte(&input);

		if (input.failed || unit != (unsigned char)text[i])
			return false;
	}
	return true;
}
