/*
 * The fields of one line of zones as text. Fields are slices of the line; only one that has doubled
 * quotes needs a copy, which goes into one buffer for the whole line. That buffer gets its room
 * before the first field, so that it does not move while fields point into it.
 *
 * Unambiguous input is read: a sign, leading zeros, blanks around a field, a pointer in
 * hexadecimal. Everything else is refused with the line's number and the text in question.
 */
#include "formats/zones.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"

/* Neither CR nor LF, which belong to the ends of lines. No isspace(): it asks the locale. */
bool zones_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

struct zones_string zones_trim(struct zones_string string)
{
	while (string.length && zones_is_blank(string.data[0])) {
		string.data++;
		string.length--;
	}
	while (string.length && zones_is_blank(string.data[string.length - 1]))
		string.length--;
	return string;
}

#define FAIL(line, ...) import_fail_line((line)->import, (line)->number, __VA_ARGS__)

/* Copy a quoted field that holds doubled quotes; the text has room for the whole line. */
static struct zones_string undouble(struct zones_line *line, const char *data, size_t length)
{
	size_t start = line->unquoted.length;

	for (size_t i = 0; i < length; i++) {
		text_append_char(&line->unquoted, data[i]);
		i += data[i] == '"';
	}
	return (struct zones_string){line->unquoted.data + start, line->unquoted.length - start};
}

/* A field behind its opening quote; steps over the closing one. */
static int take_quoted(struct zones_line *line, struct zones_string *ret)
{
	size_t length = 0;
	bool has_doubled = false;

	for (;;) {
		const char *quote = length < line->length ? memchr(line->data + length, '"',
								   line->length - length)
							  : NULL;

		if (!quote)
			return FAIL(line, "the quote is not closed on this line");
		length = (size_t)(quote - line->data);
		if (length + 1 == line->length || quote[1] != '"')
			break;
		has_doubled = true;
		length += 2;
	}
	*ret = has_doubled ? undouble(line, line->data, length)
			   : (struct zones_string){line->data, length};
	line->data += length + 1;
	line->length -= length + 1;
	return 0;
}

/* The next field, and the comma behind it if there is one. */
static int take_field(struct zones_line *line, struct zones_string *ret, bool *ret_has_more)
{
	struct zones_string rest = zones_trim((struct zones_string){line->data, line->length});
	const char *comma;
	bool is_quoted = rest.length && rest.data[0] == '"';
	int err;

	if (is_quoted) {
		line->data = rest.data + 1;
		line->length = rest.length - 1;
		err = take_quoted(line, ret);
		if (err)
			return err;
		rest = zones_trim((struct zones_string){line->data, line->length});
		if (rest.length && rest.data[0] != ',')
			return FAIL(line, "expected a comma after the closing quote");
	}
	comma = rest.length ? memchr(rest.data, ',', rest.length) : NULL;
	*ret_has_more = comma;
	if (!is_quoted)
		*ret = zones_trim((struct zones_string){
			rest.data, comma ? (size_t)(comma - rest.data) : rest.length});
	line->length = comma ? rest.length - (size_t)(comma + 1 - rest.data) : 0;
	line->data = comma ? comma + 1 : rest.data + rest.length;
	return 0;
}

/* Fields beyond ZONES_MAX_FIELDS are counted, so that the caller can report the excess. */
int zones_line_split(struct zones_line *line)
{
	bool has_more = true;

	line->num_fields = 0;
	text_truncate(&line->unquoted, 0);
	/* So that it does not move while fields point into it. */
	if (memchr(line->data, '"', line->length) &&
	    array_reserve_bytes(&line->unquoted.data, &line->unquoted.capacity, line->length + 1,
				1))
		return -ENOMEM;
	while (has_more) {
		struct zones_string field;
		int err = take_field(line, &field, &has_more);

		if (err)
			return err;
		if (line->num_fields < ZONES_MAX_FIELDS)
			line->fields[line->num_fields] = field;
		line->num_fields++;
	}
	return 0;
}

/* Cut at a byte, which may be within a character; it is for a message. */
struct zones_shown zones_show(struct zones_string string)
{
	struct zones_shown shown = {""};
	size_t length = string.length < 40 ? string.length : 40;

	for (size_t i = 0; i < length; i++)
		shown.text[i] = (unsigned char)string.data[i] < ' ' ? '?' : string.data[i];
	memcpy(shown.text + length, string.length > 40 ? "..." : "", string.length > 40 ? 4 : 1);
	return shown;
}

static int bad_number(struct zones_line *line, size_t index, const char *what)
{
	struct zones_shown shown = zones_show(line->fields[index]);

	return FAIL(line, "expected %s, not '%s'", what, shown.text);
}

/* Steps over a sign; whether it is a minus. */
static bool take_sign(struct zones_string *digits)
{
	bool is_negative = digits->length && digits->data[0] == '-';

	if (digits->length && (is_negative || digits->data[0] == '+')) {
		digits->data++;
		digits->length--;
	}
	return is_negative;
}

bool zones_read_digits(struct zones_string digits, uint64_t *ret, bool *ret_overflows)
{
	uint64_t value = 0;
	bool overflows = false;

	for (size_t i = 0; i < digits.length; i++) {
		unsigned digit = (unsigned)digits.data[i] - '0';

		if (digit > 9)
			return false;
		if (value > (UINT64_MAX - digit) / 10)
			overflows = true;
		value = value * 10 + digit;
	}
	*ret = value;
	*ret_overflows = overflows;
	return digits.length > 0;
}

/* "-0" is 0. */
int zones_line_read_unsigned(struct zones_line *line, size_t index, const char *what, uint64_t *ret)
{
	struct zones_string digits = line->fields[index];
	bool is_negative = take_sign(&digits);
	bool overflows;

	if (!zones_read_digits(digits, ret, &overflows) || overflows || (is_negative && *ret))
		return bad_number(line, index, what);
	return 0;
}

/*
 * Ids are compared and nothing else: whatever happens beyond 64 bits happens to all of them in the
 * same way.
 */
int zones_line_read_id(struct zones_line *line, size_t index, const char *what, uint64_t *ret)
{
	struct zones_string digits = line->fields[index];
	bool is_negative = take_sign(&digits);
	bool overflows;

	if (!zones_read_digits(digits, ret, &overflows))
		return bad_number(line, index, what);
	if (is_negative)
		*ret = -*ret;
	return 0;
}

int zones_line_read_pointer(struct zones_line *line, size_t index, uint64_t *ret)
{
	struct zones_string field = line->fields[index];

	if (field.length < 2 || field.data[0] != '0' || (field.data[1] | 0x20) != 'x')
		return zones_line_read_unsigned(line, index, "a pointer", ret);
	field.data += 2;
	field.length -= 2;
	if (!field.length || hex_read(field.data, field.length, ret) != field.length)
		return bad_number(line, index, "a pointer");
	return 0;
}

/*
 * A decimal as C and JSON write it: no hexadecimal, no names for infinity. strtod() alone would
 * take "0x1p3", "inf" and "nan" as well.
 */
static bool is_decimal(struct zones_string number)
{
	size_t i = 0;
	size_t num_digits = 0;

	take_sign(&number);
	for (; i < number.length && isdigit((unsigned char)number.data[i]); i++)
		num_digits++;
	if (i < number.length && number.data[i] == '.')
		for (i++; i < number.length && isdigit((unsigned char)number.data[i]); i++)
			num_digits++;
	if (!num_digits)
		return false;
	if (i < number.length && (number.data[i] | 0x20) == 'e') {
		struct zones_string exponent = {number.data + i + 1, number.length - i - 1};
		uint64_t value;
		bool overflows;

		take_sign(&exponent);
		return zones_read_digits(exponent, &value, &overflows);
	}
	return i == number.length;
}

static int read_decimal(struct zones_line *line, size_t index, struct counter_value *ret)
{
	struct zones_string field = line->fields[index];
	/* %f prints a double with up to 309 digits before the point. */
	char text[512];

	if (!is_decimal(field) || field.length >= sizeof(text))
		return bad_number(line, index, "a number");
	memcpy(text, field.data, field.length);
	text[field.length] = '\0';
	ret->value.number = strtod(text, NULL);
	ret->type = VALUE_DOUBLE;
	return isfinite(ret->value.number) ? 0 : bad_number(line, index, "a finite number");
}

/*
 * An unsigned number above INT64_MAX becomes a double, which loses its last digits: a trace's
 * counters have signed integers or doubles.
 */
int zones_line_read_value(struct zones_line *line, size_t index, struct counter_value *ret)
{
	struct zones_string digits = line->fields[index];
	bool is_negative = take_sign(&digits);
	uint64_t value;
	bool overflows;

	if (!zones_read_digits(digits, &value, &overflows))
		return read_decimal(line, index, ret);
	if (overflows || (is_negative && value > (uint64_t)INT64_MAX + 1))
		return bad_number(line, index, "a number of at most 64 bits");
	if (!is_negative && value > INT64_MAX)
		return read_decimal(line, index, ret);
	ret->value.i64 = (int64_t)(is_negative ? -value : value);
	ret->type = VALUE_I64;
	return 0;
}

int zones_line_read_u32(struct zones_line *line, size_t index, const char *what, uint32_t *ret)
{
	uint64_t value;
	int err = zones_line_read_unsigned(line, index, what, &value);

	if (err)
		return err;
	if (value > UINT32_MAX)
		return bad_number(line, index, what);
	*ret = (uint32_t)value;
	return 0;
}
