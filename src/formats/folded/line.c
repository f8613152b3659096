/*
 * A line is split from its end, as names may hold spaces and digits: "a;operator new 5 12" has the
 * weight 12 and, in the differential kind, 5 and 12. Fractions are rare, and kept out of the way of
 * whole numbers. Space is White_Space of Unicode, because inferno trims that.
 */
#include "formats/folded/line.h"

#include <errno.h>

/* Any count of so many digits fits 64 bits. */
#define MAX_PLAIN_DIGITS 18

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

/* The length of the White_Space character at the end of the text, in bytes, or 0. */
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

/* The start of the digits at the end of the text. */
static size_t find_digits(const uint8_t *data, size_t size)
{
	while (size && data[size - 1] >= '0' && data[size - 1] <= '9')
		size--;
	return size;
}

/* Returns 0 or -ERANGE. */
static int read_whole(const uint8_t *data, size_t start, size_t end, uint64_t *ret)
{
	uint64_t count = 0;
	bool is_too_large = false;

	for (size_t i = start; i < end && !is_too_large; i++)
		is_too_large = __builtin_mul_overflow(count, 10, &count) ||
			       __builtin_add_overflow(count, data[i] - '0', &count);
	*ret = count;
	return is_too_large ? -ERANGE : 0;
}

/* The start of the number with these digits: at a minus sign, if there is one. */
static size_t find_number(const uint8_t *data, size_t digits)
{
	return digits - (digits && data[digits - 1] == '-');
}

/*
 * The digits [start, end) behind a point, as millionths and rounded to these: 1000000 when that makes
 * one of them.
 */
static uint32_t read_millionths(struct folded_line *line, const uint8_t *data, size_t start,
				size_t end)
{
	uint32_t value = 0;

	for (size_t i = start; i < start + FOLDED_MAX_DECIMALS; i++)
		value = value * 10 + (i < end ? data[i] - '0' : 0);
	for (size_t i = start + FOLDED_MAX_DECIMALS; i < end; i++)
		line->is_rounded |= data[i] != '0';
	if (end - start > FOLDED_MAX_DECIMALS && data[start + FOLDED_MAX_DECIMALS] >= '5')
		value++;
	return value;
}

static uint8_t count_decimals(uint32_t millionths)
{
	uint8_t decimals = FOLDED_MAX_DECIMALS;

	for (; decimals && millionths % 10 == 0; millionths /= 10)
		decimals--;
	return decimals;
}

/* take_count() if the digits from `start` on are not a number of their own: "1.5". */
static int take_fraction(struct folded_line *line, size_t i, const uint8_t *data, size_t *size,
			 size_t start)
{
	size_t point = start ? start - 1 : 0;
	size_t whole = find_digits(data, point);
	size_t number = find_number(data, whole);
	uint8_t decimals;
	int err;

	if (!start || data[point] != '.' || whole == point || !get_space_at_end(data, number))
		return -EBADMSG;
	line->is_negative[i] = number < whole;
	err = read_whole(data, whole, point, &line->counts[i]);
	line->millionths[i] = read_millionths(line, data, start, *size);
	if (line->millionths[i] == 1000000) {
		line->millionths[i] = 0;
		if (__builtin_add_overflow(line->counts[i], 1, &line->counts[i]))
			err = -ERANGE;
	}
	decimals = count_decimals(line->millionths[i]);
	if (decimals > line->decimals)
		line->decimals = decimals;
	*size = trim_end(data, number);
	return err;
}

/* Take the number and the white space before it off the end; *size is the new length. */
static int take_count(struct folded_line *line, size_t i, const uint8_t *data, size_t *size)
{
	size_t start = find_digits(data, *size);
	size_t number = find_number(data, start);
	int err;

	if (start == *size)
		return -EBADMSG;
	if (!get_space_at_end(data, number))
		return take_fraction(line, i, data, size, start);
	err = read_whole(data, start, *size, &line->counts[i]);
	line->millionths[i] = 0;
	line->is_negative[i] = number < start;
	*size = trim_end(data, number);
	return err;
}

static bool is_printable(uint8_t c)
{
	return c > ' ' && c < 0x7f;
}

/*
 * Most lines are "a;b 12": a stack that starts and ends in ASCII, then one space and digits for
 * each count. Returns whether the line is such a line; take_count() reads the others.
 */
static bool parse_plain(const uint8_t *data, size_t size, size_t num_counts,
			struct folded_line *ret)
{
	if (!size || !is_printable(data[0]))
		return false;
	for (size_t i = num_counts; i-- > 0;) {
		size_t end = size;
		uint64_t scale = 1;

		ret->counts[i] = 0;
		while (size && data[size - 1] >= '0' && data[size - 1] <= '9') {
			ret->counts[i] += (uint64_t)(data[--size] - '0') * scale;
			scale *= 10;
		}
		if (size == end || end - size > MAX_PLAIN_DIGITS || size < 2 ||
		    data[size - 1] != ' ' || !is_printable(data[size - 2]))
			return false;
		size--;
		ret->millionths[i] = 0;
		ret->is_negative[i] = false;
	}
	ret->stack = data;
	ret->length = size;
	return true;
}

int folded_line_parse(const uint8_t *data, size_t size, size_t num_counts, struct folded_line *ret)
{
	bool is_out_of_range = false;

	ret->decimals = 0;
	ret->is_rounded = false;
	if (parse_plain(data, size, num_counts, ret))
		return 0;
	size = trim_end(data, size);
	for (size_t space; (space = get_space_at_start(data, size)) > 0;) {
		data += space;
		size -= space;
	}
	if (!size)
		return -ENODATA;
	for (size_t i = num_counts; i-- > 0;) {
		int err = take_count(ret, i, data, &size);

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
