#include "base/table_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Narrower columns of words are no easier to read than lines that the terminal breaks. */
#define MIN_WORDS_COLUMNS 20
#define ELLIPSIS          "\xe2\x80\xa6"

/* Three digits a group, with a comma between them. */
size_t table_get_count_width(uint64_t number)
{
	size_t digits = 1;

	for (; number >= 10; number /= 10)
		digits++;
	return digits + (digits - 1) / 3;
}

void table_append_blanks(struct text *text, size_t count)
{
	while (count-- > 0)
		text_append_char(text, ' ');
}

void table_append_count(struct text *text, uint64_t number, size_t width)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	size_t columns = table_get_count_width(number);

	if (columns < width)
		table_append_blanks(text, width - columns);
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text_append_char(text, ',');
		text_append_char(text, digits[i]);
	}
}

/* A part of a phrase from an opening brace on: "{one|several}". Returns its end. */
static const char *append_choice(struct text *text, const char *choice, bool is_one)
{
	const char *one = choice + 1;
	size_t length = strcspn(one, "|}");
	const char *several = one + length + (one[length] == '|');
	size_t rest = strcspn(several, "}");

	text_append(text, is_one ? one : several, is_one ? length : rest);
	return several + rest + (several[rest] == '}');
}

void table_append_counted(struct text *text, uint64_t number, const char *phrase)
{
	table_append_count(text, number, 0);
	text_append_char(text, ' ');
	while (*phrase) {
		size_t length = strcspn(phrase, "{");

		text_append(text, phrase, length);
		phrase += length;
		if (*phrase)
			phrase = append_choice(text, phrase, number == 1);
	}
}

/* The smallest percentage that is shown, beside 0. */
static double get_smallest(int num_decimals)
{
	double smallest = 1;

	while (num_decimals-- > 0)
		smallest /= 10;
	return smallest;
}

void table_append_share(struct text *text, double share, int num_decimals, size_t width)
{
	double smallest = get_smallest(num_decimals);
	char shown[32];
	int length;

	if (share > 0 && 100 * share < smallest / 2)
		length = snprintf(shown, sizeof(shown), "<%.*f%%", num_decimals, smallest);
	else if (share < 1 && 100 * share >= 100 - smallest / 2)
		length = snprintf(shown, sizeof(shown), ">%.*f%%", num_decimals, 100 - smallest);
	else
		length = snprintf(shown, sizeof(shown), "%.*f%%", num_decimals, 100 * share);
	if ((size_t)length < width)
		table_append_blanks(text, width - (size_t)length);
	text_append_string(text, shown);
}

/*
 * Count one column per code point. This is wrong for East Asian wide and for combining characters,
 * which hardly any function name has; a table of widths would have to follow each version of
 * Unicode.
 */
size_t table_get_name_width(const char *name, size_t length)
{
	size_t columns = 0;
	uint32_t code_point;

	for (size_t i = 0; i < length; columns++)
		i += utf8_decode(name + i, length - i, &code_point);
	return columns;
}

/*
 * Names are from foreign files. Control characters would move the terminal's cursor or change its
 * colours, and broken bytes have no width: each becomes one column.
 */
size_t table_append_name(struct text *text, const char *name, size_t length, size_t max_columns)
{
	size_t columns = table_get_name_width(name, length);
	size_t shown = columns <= max_columns ? columns : max_columns ? max_columns - 1 : 0;

	for (size_t i = 0, column = 0; column < shown; column++) {
		uint32_t code_point;
		size_t size = utf8_decode(name + i, length - i, &code_point);

		if (utf8_is_broken(code_point, size))
			text_append_char(text, '?');
		else if (utf8_is_control(code_point))
			text_append_char(text, ' ');
		else
			text_append(text, name + i, size);
		i += size;
	}
	if (shown == columns || !max_columns)
		return shown;
	text_append_string(text, ELLIPSIS);
	return max_columns;
}

void table_append_words(struct text *text, const char *words, size_t indent, size_t num_columns)
{
	bool wraps = num_columns >= indent + MIN_WORDS_COLUMNS;
	size_t column = indent;

	while (*words) {
		size_t num_blanks = strspn(words, " ");
		size_t length = strcspn(words + num_blanks, " ");
		size_t width = table_get_name_width(words + num_blanks, length);

		if (wraps && column > indent && column + num_blanks + width > num_columns) {
			text_append_char(text, '\n');
			table_append_blanks(text, indent);
			text_append(text, words + num_blanks, length);
			column = indent + width;
		} else {
			text_append(text, words, num_blanks + length);
			column += num_blanks + width;
		}
		words += num_blanks + length;
	}
}
