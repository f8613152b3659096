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

void column_append(struct column *column, uint64_t number)
{
	for (size_t plane = 0;; plane++) {
		uint8_t rest = number > 0x7f ? GOES_ON : 0;

		text_append_char(&column->planes[plane], (char)((number & 0x7f) | rest));
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

/* Only a number that is 0 is a byte of 0 in the first plane: others go on, or have it elsewhere. */
static size_t measure_without_zeros(const struct text *plane)
{
	size_t length = plane->length;

	while (length && !plane->data[length - 1])
		length--;
	return length;
}

void column_write(struct column *column, bool is_whole, struct text *ret)
{
	struct text *first = &column->planes[0];

	if (!is_whole && first->length)
		text_truncate(first, measure_without_zeros(first));
	append_length(ret, first->length);
	for (size_t i = 0; i < COLUMN_MAX_PLANES && column->planes[i].length; i++)
		text_append(ret, column->planes[i].data, column->planes[i].length);
	for (size_t i = 0; i < COLUMN_MAX_PLANES; i++) {
		ret->failed |= column->planes[i].failed;
		text_truncate(&column->planes[i], 0);
	}
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
