#include "formats/native/column.h"

#include <string.h>

#include "base/array.h"

#define GOES_ON     0x80
#define LAST_PLANE  (COLUMN_MAX_PLANES - 1)
#define LAST_VALUES 1 /* the highest of 64 bits */

void column_release(struct column *column)
{
	for (size_t i = 0; i < COLUMN_MAX_PLANES; i++)
		text_release(&column->planes[i]);
}

/* All are in the first plane alone. */
static void append_zeros(struct column *column)
{
	static const char zeros[64];

	while (column->num_zeros) {
		size_t count = column->num_zeros < sizeof(zeros) ? (size_t)column->num_zeros
								 : sizeof(zeros);

		text_append(&column->planes[0], zeros, count);
		column->num_zeros -= count;
		column->length += count;
	}
}

/* As text_append_char(), which is called for each of millions of bytes. */
static inline void append_byte(struct text *plane, uint8_t byte)
{
	if (plane->length + 1 < plane->capacity) {
		plane->data[plane->length++] = (char)byte;
		plane->data[plane->length] = '\0';
		return;
	}
	text_append_char(plane, (char)byte);
}

void column_append(struct column *column, uint64_t number)
{
	if (column->num_zeros)
		append_zeros(column);
	column->length++;
	for (size_t plane = 0;; plane++) {
		uint8_t rest = number > 0x7f ? GOES_ON : 0;

		append_byte(&column->planes[plane], (uint8_t)((number & 0x7f) | rest));
		number >>= 7;
		if (!number)
			return;
	}
}

static void append_length(struct text *text, uint64_t length)
{
	for (; length > 0x7f; length >>= 7)
		text_append_char(text, (char)((length & 0x7f) | GOES_ON));
	text_append_char(text, (char)length);
}

void column_write(struct column *column, bool is_whole, struct text *ret)
{
	if (is_whole)
		append_zeros(column);
	append_length(ret, column->length);
	for (size_t i = 0; i < COLUMN_MAX_PLANES && column->planes[i].length; i++) {
		text_append(ret, column->planes[i].data, column->planes[i].length);
		ret->failed |= column->planes[i].failed;
		text_truncate(&column->planes[i], 0);
	}
	column->length = column->num_zeros = 0;
}

static size_t count_going_on(const uint8_t *plane, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += plane[i] >> 7;
	return count;
}

bool column_open(struct bytes *bytes, uint64_t max_length, struct column_cursor *ret)
{
	uint64_t length = leb128_read_unsigned(bytes);
	size_t plane_length;

	if (length > max_length || length > bytes_left(bytes)) {
		bytes->failed = true;
		return false;
	}
	*ret = (struct column_cursor){.left = length};
	plane_length = (size_t)length;
	for (size_t i = 0; i < COLUMN_MAX_PLANES && plane_length; i++) {
		const uint8_t *plane = bytes_take(bytes, plane_length);

		if (!plane)
			return false;
		for (size_t k = 0; i == LAST_PLANE && k < plane_length; k++)
			bytes->failed |= plane[k] > LAST_VALUES;
		ret->at[i] = plane;
		plane_length = count_going_on(plane, plane_length);
	}
	return !bytes->failed;
}
