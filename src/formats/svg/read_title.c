/*
 * Names hold brackets and commas of their own, so that the title is read from its end: `%)`, the
 * percentage, the word or words that are counted, the count.
 */
#include "formats/svg.h"

#include <string.h>

#define LARGEST_NUMBER 1e18

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t svg_parse_number(const char *text, size_t length, double *ret)
{
	size_t i = length && (text[0] == '-' || text[0] == '+');
	size_t first = i;
	double value = 0;
	double digit = 1;

	for (; i < length && is_digit(text[i]); i++)
		value = value < LARGEST_NUMBER ? value * 10 + (text[i] - '0') : value;
	if (i == first || value >= LARGEST_NUMBER)
		return 0;
	if (i < length && text[i] == '.')
		for (i++; i < length && is_digit(text[i]); i++)
			value += (text[i] - '0') * (digit /= 10);
	*ret = text[0] == '-' ? -value : value;
	return i;
}

/* Counts may need all of 64 bits. */
static size_t parse_count(const char *text, size_t length, uint64_t *ret)
{
	uint64_t count = 0;
	size_t i = 0;

	for (; i < length && (is_digit(text[i]) || (i && text[i] == ',')); i++)
		if (text[i] != ',' &&
		    (__builtin_mul_overflow(count, 10, &count) ||
		     __builtin_add_overflow(count, (uint64_t)(text[i] - '0'), &count)))
			return 0;
	if (i && i < length && text[i] == '.') {
		bool is_half = i + 1 < length && text[i + 1] >= '5' && text[i + 1] <= '9';

		count += is_half && count < UINT64_MAX;
		for (i++; i < length && is_digit(text[i]); i++)
			;
	}
	*ret = count;
	return i;
}

/* The last position of a character before `end`; `end` if not found. */
static size_t find_back(const char *text, size_t end, char wanted)
{
	const char *found = memrchr(text, wanted, end);

	return found ? (size_t)(found - text) : end;
}

/* `-12.5%` and nothing else */
static bool is_percentage(const char *text, size_t length, double *ret)
{
	size_t digits = svg_parse_number(text, length, ret);

	return digits && digits + 1 == length && text[digits] == '%';
}

static void skip_space(const char *text, size_t *start, size_t end)
{
	while (*start < end && text[*start] == ' ')
		(*start)++;
}

/* The start of `12.34%` or `12.34%; +5.67%` at the end of text, up to `end`; `end` if not found. */
static size_t find_percentages(const char *text, size_t end, struct svg_title *title)
{
	size_t comma = find_back(text, end, ',');
	size_t start = comma + 1;
	size_t semicolon = find_back(text, end, ';');
	double percent;

	if (comma == end)
		return end;
	if (semicolon > comma && semicolon < end) {
		size_t change = semicolon + 1;

		skip_space(text, &change, end);
		if (!is_percentage(text + change, end - change, &title->change_percent))
			return end;
		title->has_change = true;
	} else {
		semicolon = end;
	}
	skip_space(text, &start, semicolon);
	return is_percentage(text + start, semicolon - start, &percent) ? comma : end;
}

/* `1,234 samples` at the start; the rest, up to `end`, is the unit. */
static bool read_count(const char *text, size_t start, size_t end, struct svg_title *title)
{
	size_t digits = parse_count(text + start, end - start, &title->count);

	if (!digits || start + digits >= end || text[start + digits] != ' ')
		return false;
	title->unit = text + start + digits + 1;
	title->unit_length = end - start - digits - 1;
	return true;
}

static bool starts_number(const char *text, size_t start, size_t end)
{
	return start < end && (is_digit(text[start]) || text[start] == '-' || text[start] == '+');
}

/* Find the count: it follows the bracket, or ", " after another number in front of it. */
static bool find_count(const char *text, size_t end, struct svg_title *title)
{
	size_t search_end = end;

	for (int tries = 0; tries < 8; tries++) {
		size_t bracket = find_back(text, search_end, '(');
		size_t start = bracket + 1;
		const char *comma;

		if (bracket == search_end)
			return false;
		title->name_length = bracket && text[bracket - 1] == ' ' ? bracket - 1 : bracket;
		/* 2013's comparisons: `(-36 sample weight, 37 samples, 12.09%)` */
		comma = starts_number(text, start, end) ? memmem(text + start, end - start, ", ", 2)
							: NULL;
		if (comma && read_count(text, (size_t)(comma - text) + 2, end, title))
			return true;
		if (read_count(text, start, end, title))
			return true;
		search_end = bracket;
	}
	return false;
}

bool svg_title_parse(const char *text, size_t length, struct svg_title *ret)
{
	struct svg_title title = {0};
	size_t end;

	while (length && (text[length - 1] == ' ' || text[length - 1] == '\n'))
		length--;
	if (!length || text[length - 1] != ')')
		return false;
	end = find_percentages(text, length - 1, &title);
	if (end == length - 1 || !find_count(text, end, &title))
		return false;
	*ret = title;
	return true;
}
