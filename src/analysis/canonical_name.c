/*
 * Sources of the patterns: HotSpot's ClassFileParser (hidden classes), InnerClassLambdaMetafactory,
 * MethodAccessorGenerator and ProxyGenerator of the JDK 8 to 21; CGLIB's DefaultNamingPolicy.
 * Separators differ by version and printer: a class `A$$Lambda/0x12` is printed with `/`, `.` or
 * `+`.
 */
#include "analysis/normalize.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Shorter numbers are no addresses of hidden classes. */
#define MIN_ADDRESS_DIGITS 8

struct name_rest {
	const char *start;
	const char *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count(struct name_rest rest, bool (*is_of_kind)(char c))
{
	const char *c = rest.start;

	while (c < rest.end && is_of_kind(*c))
		c++;
	return (size_t)(c - rest.start);
}

static bool starts_with(struct name_rest rest, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(rest.end - rest.start) >= length && !memcmp(rest.start, text, length);
}

static void skip(struct name_rest *rest, bool (*is_of_kind)(char c))
{
	rest->start += count(*rest, is_of_kind);
}

/* Length of `/0x7f0012345678`, with one of these separators; 0: not an address. */
static size_t measure_address(struct name_rest rest, const char *separators, size_t min_digits)
{
	struct name_rest digits = {rest.start + 3, rest.end};
	size_t num_digits;

	if (rest.end - rest.start < 4 || !strchr(separators, rest.start[0]) || !rest.start[0] ||
	    rest.start[1] != '0' || rest.start[2] != 'x')
		return 0;
	num_digits = count(digits, is_hex_digit);
	return num_digits >= min_digits ? 3 + num_digits : 0;
}

/* After the name of a generated class: `$14/0x7f00`, `$14/1234`, `+0x7f00`, `.1234`. */
static void skip_numbers(struct name_rest *rest)
{
	struct name_rest after = *rest;

	if (after.start < after.end && *after.start == '$')
		after.start++;
	skip(&after, is_digit);
	if (after.start - rest->start > 1 || (after.start > rest->start && *rest->start != '$'))
		*rest = after;
	rest->start += measure_address(*rest, "/.+", 1);
	after = (struct name_rest){rest->start + 1, rest->end};
	if (rest->start + 1 < rest->end && strchr("/.+", *rest->start) && is_digit(*after.start)) {
		skip(&after, is_digit);
		*rest = after;
	}
}

static bool is_form_letter(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Append the kept part of the name of a class made by the virtual machine, and skip the rest. */
static bool take_made_class(struct text *text, struct name_rest *rest)
{
	static const char *const numbered[] = {
		"GeneratedMethodAccessor",
		"GeneratedConstructorAccessor",
		"GeneratedSerializationConstructorAccessor",
		"$Proxy",
		"jdk.proxy",
	};

	if (starts_with(*rest, "$$Lambda")) {
		text_append_string(text, "$$Lambda");
		rest->start += strlen("$$Lambda");
		skip_numbers(rest);
		return true;
	}
	if (starts_with(*rest, "LambdaForm$")) {
		size_t length = strlen("LambdaForm$");

		length +=
			count((struct name_rest){rest->start + length, rest->end}, is_form_letter);
		text_append(text, rest->start, length);
		rest->start += length;
		skip_numbers(rest);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(numbered); i++) {
		if (!starts_with(*rest, numbered[i]))
			continue;
		text_append_string(text, numbered[i]);
		rest->start += strlen(numbered[i]);
		skip(rest, is_digit);
		return true;
	}
	if (starts_with(*rest, "CGLIB$$")) {
		text_append_string(text, "CGLIB$$");
		rest->start += strlen("CGLIB$$");
		skip(rest, is_hex_digit);
		return true;
	}
	return false;
}

void canonical_name_append(struct text *text, const char *name, size_t length)
{
	struct name_rest rest = {name, name + length};

	if (starts_with(rest, WAKER_FUTEX_START)) {
		text_append_string(text, WAKER_FUTEX_NAME);
		return;
	}
	if (length > 4 && (!memcmp(rest.end - 4, "_[0]", 4) || !memcmp(rest.end - 4, "_[1]", 4)))
		rest.end -= 4;
	while (rest.start < rest.end) {
		size_t address = measure_address(rest, "/.", MIN_ADDRESS_DIGITS);

		if (address && rest.start > name)
			rest.start += address;
		else if (!take_made_class(text, &rest))
			text_append_char(text, *rest.start++);
	}
}
