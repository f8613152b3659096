/*
 * A line is split from its end, as names may hold spaces and digits: "a;operator new 5 12" has the
 * weight 12 and, in the differential kind, 5 and 12. Space is what Unicode calls White_Space,
 * because inferno trims that.
 */
#include "formats/folded/line.h"

#include <errno.h>
#include <stdbool.h>

static bool is_ascii_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* U+0085 and U+00A0. */
static bool is_space_of_two(const uint8_t *data)
{
	return data[0] == 0xc2 && (data[1] == 0x85 || data[1] == 0xa0);
}

/* U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000. */
static bool is_space_of_three(const uint8_t *data)
{
	if (data[0] == 0xe2 && data[1] == 0x80)
		return (data[2] >= 0x80 && data[2] <= 0x8a) || data[2] == 0xa8 || data[2] == 0xa9 ||
		       data[2] == 0xaf;
	return (data[0] == 0xe1 && data[1] == 0x9a && data[2] == 0x80) ||
	       (data[0] == 0xe2 && data[1] == 0x81 && data[2] == 0x9f) ||
	       (data[0] == 0xe3 && data[1] == 0x80 && data[2] == 0x80);
}

/* The bytes of the White_Space character that the text ends in; 0 when it ends in another. */
static size_t get_space_at_end(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[size - 1] < 0x80)
		return is_ascii_space(data[size - 1]);
	if (size >= 2 && is_space_of_two(data + size - 2))
		return 2;
	return size >= 3 && is_space_of_three(data + size - 3) ? 3 : 0;
}

static size_t get_space_at_start(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] < 0x80)
		return is_ascii_space(data[0]);
	if (size >= 2 && is_space_of_two(data))
		return 2;
	return size >= 3 && is_space_of_three(data) ? 3 : 0;
}

static size_t trim_end(const uint8_t *data, size_t size)
{
	for (size_t space; (space = get_space_at_end(data, size)) > 0;)
		size -= space;
	return size;
}

/* Take the number and the white space before it off the end; *size is what is left. */
static int take_count(const uint8_t *data, size_t *size, uint64_t *ret)
{
	size_t start = *size;
	uint64_t count = 0;
	bool is_too_large = false;

	while (start && data[start - 1] >= '0' && data[start - 1] <= '9')
		start--;
	if (start == *size || !get_space_at_end(data, start))
		return -EBADMSG;
	for (size_t i = start; i < *size && !is_too_large; i++)
		is_too_large = __builtin_mul_overflow(count, 10, &count) ||
			       __builtin_add_overflow(count, data[i] - '0', &count);
	*size = trim_end(data, start);
	*ret = count;
	return is_too_large ? -ERANGE : 0;
}

int folded_line_parse(const uint8_t *data, size_t size, size_t num_counts, struct folded_line *ret)
{
	bool is_out_of_range = false;

	size = trim_end(data, size);
	for (size_t space; (space = get_space_at_start(data, size)) > 0;) {
		data += space;
		size -= space;
	}
	if (!size)
		return -ENODATA;
	for (size_t i = num_counts; i-- > 0;) {
		int err = take_count(data, &size, &ret->counts[i]);

		if (err == -EBADMSG)
			return err;
		is_out_of_range |= err == -ERANGE;
	}
	if (!size)
		return -EBADMSG;
	ret->stack = data;
	ret->length = size;
	return is_out_of_range ? -ERANGE : 0;
}
