/*
 * Integers are compressed if bit 0 of the header's features is set, which is the default of
 * HotSpot; async-profiler does the same. Lengths and keys then take one to nine bytes.
 */
#include "formats/jfr/read_cursor.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

int jfr_fail(struct jfr_fault *fault, size_t offset, const char *what)
{
	*fault = (struct jfr_fault){.offset = offset, .what = what};
	return -EBADMSG;
}

/* A failure is sticky: readers check it once, behind several values, and get zeros until then. */
uint8_t jfr_read_byte(struct jfr_cursor *input)
{
	if (input->failed || input->offset >= input->size) {
		input->failed = true;
		return 0;
	}
	return input->data[input->offset++];
}

static void skip_bytes(struct jfr_cursor *input, uint64_t count)
{
	if (input->failed || count > input->size - input->offset)
		input->failed = true;
	else
		input->offset += count;
}

uint64_t jfr_read_big_endian(struct jfr_cursor *input, unsigned int width)
{
	uint64_t value = 0;

	while (width--)
		value = value << 8 | jfr_read_byte(input);
	return value;
}

/* Seven bits a byte, the lowest first. Unlike in DWARF, a ninth byte is the last, and all its eight
   bits count: 8 * 7 + 8 is 64. */
static uint64_t read_leb128(struct jfr_cursor *input)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 56; shift += 7) {
		uint8_t byte = jfr_read_byte(input);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	return value | (uint64_t)jfr_read_byte(input) << 56;
}

uint64_t jfr_read_integer(struct jfr_cursor *input, unsigned int width_bytes)
{
	if (width_bytes == 1)
		return jfr_read_byte(input);
	return input->is_compressed ? read_leb128(input) : jfr_read_big_endian(input, width_bytes);
}

/* In the order of the format's numbers, which a byte before each string gives. */
enum string_encoding {
	STRING_NULL,
	STRING_IS_EMPTY,
	STRING_CONSTANT,
	STRING_UTF8,
	STRING_UTF16,
	STRING_LATIN1,
};

/* Java's strings may hold half a surrogate pair, which UTF-8 cannot. */
static void read_utf16(struct jfr_cursor *input, uint64_t count, struct text *text)
{
	uint32_t high = 0;

	for (uint64_t i = 0; i < count && !input->failed; i++) {
		uint32_t unit = (uint16_t)jfr_read_integer(input, 2);

		if (high && unit >= 0xdc00 && unit < 0xe000) {
			utf8_append_code_point(text,
					       0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
			high = 0;
			continue;
		}
		if (high)
			utf8_append_code_point(text, UTF8_REPLACEMENT_CODE_POINT);
		high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
		if (!high)
			utf8_append_code_point(text, unit >= 0xdc00 && unit < 0xe000
							     ? UTF8_REPLACEMENT_CODE_POINT
							     : unit);
	}
	if (high)
		utf8_append_code_point(text, UTF8_REPLACEMENT_CODE_POINT);
}

/* A string may be in the constant pool: then its key is returned, and nothing is appended. */
uint64_t jfr_read_plain_string(struct jfr_cursor *input, struct text *text)
{
	uint8_t encoding = jfr_read_byte(input);
	uint64_t length;
	struct text ignored = {0};

	if (encoding == STRING_NULL || encoding == STRING_IS_EMPTY)
		return 0;
	if (encoding == STRING_CONSTANT)
		return jfr_read_long(input);
	/* In bytes for UTF-8, else in characters. No character takes less than a byte. */
	length = jfr_read_int(input);
	if (encoding > STRING_LATIN1 || length > input->size - input->offset) {
		input->failed = true;
		return 0;
	}
	if (encoding == STRING_UTF16) {
		read_utf16(input, length, text ? text : &ignored);
		text_release(&ignored);
		return 0;
	}
	if (text && encoding == STRING_UTF8)
		text_append(text, input->data + input->offset, length);
	else if (text)
		for (uint64_t i = 0; i < length; i++)
			utf8_append_code_point(text, input->data[input->offset + i]);
	skip_bytes(input, length);
	return 0;
}

bool jfr_string_equals(struct jfr_cursor input, const char *text)
{
	size_t length = strlen(text);
	uint8_t encoding = jfr_read_byte(&input);

	/* The text is ASCII: all encodings have one unit a character. */
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
