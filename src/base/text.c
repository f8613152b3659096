#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/array.h"

/* Whole numbers up to it are exact in a double, and so are their halves below it. */
#define MAX_EXACT    0x1p52
#define MAX_DECIMALS 9

void text_release(struct text *text)
{
	free(text->data);
	*text = (struct text){0};
}

/*
 * Room for `more` bytes and the final NUL. A failed text stays failed and ignores further appends:
 * callers check `failed` once, at the end.
 */
static bool text_reserve(struct text *text, size_t more)
{
	size_t wanted;

	if (text->failed)
		return false;
	if (more < text->capacity - text->length)
		return true;
	if (__builtin_add_overflow(text->length, more, &wanted) ||
	    __builtin_add_overflow(wanted, 1, &wanted) ||
	    array_reserve_bytes(&text->data, &text->capacity, wanted, 1))
		text->failed = true;
	return !text->failed;
}

void text_append(struct text *text, const void *data, size_t length)
{
	if (!text_reserve(text, length))
		return;
	if (length)
		memcpy(text->data + text->length, data, length);
	text->length += length;
	text->data[text->length] = '\0';
}

char *text_extend(struct text *text, size_t size)
{
	return text_reserve(text, size) ? text->data + text->length : NULL;
}

void text_end_at(struct text *text, char *end)
{
	text->length = (size_t)(end - text->data);
	*end = '\0';
}

void text_append_string(struct text *text, const char *string)
{
	text_append(text, string, strlen(string));
}

void text_append_char(struct text *text, char c)
{
	text_append(text, &c, 1);
}

char *number_print(char *target, uint64_t number)
{
	char digits[NUMBER_MAX_DIGITS];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (first < sizeof(digits))
		*target++ = digits[first++];
	return target;
}

void text_append_number(struct text *text, uint64_t number)
{
	char digits[NUMBER_MAX_DIGITS];
	char *end = number_print(digits, number);

	text_append(text, digits, (size_t)(end - digits));
}

/*
 * Compute in whole units of the last decimal, which takes a tenth of printf()'s time. The
 * multiplication rounds, so an apparent tie may not be one: fma() shows on which side of it the
 * number was.
 */
void text_append_decimal(struct text *text, double number, unsigned decimals)
{
	char digits[MAX_DECIMALS];
	uint64_t scale = 1;
	double product;
	double rest;
	double lost;
	uint64_t units;
	uint64_t fraction;

	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	product = number * (double)scale;
	if (decimals > MAX_DECIMALS || !(product >= 0 && product < MAX_EXACT)) {
		text_printf(text, "%.*f", (int)decimals, number);
		return;
	}
	units = (uint64_t)product;
	rest = product - (double)units;
	lost = rest == 0.5 ? fma(number, (double)scale, -product) : 0;
	if (rest > 0.5 || (rest == 0.5 && (lost > 0 || (lost == 0 && units % 2))))
		units++;
	text_append_number(text, units / scale);
	if (!decimals)
		return;
	fraction = units % scale;
	for (unsigned i = decimals; i--; fraction /= 10)
		digits[i] = (char)('0' + fraction % 10);
	text_append_char(text, '.');
	text_append(text, digits, decimals);
}

/* Format into the present room; a second time if that was too small. */
void text_printf(struct text *text, const char *format, ...)
{
	size_t room = text->capacity - text->length;
	va_list arguments;
	int length;

	if (text->failed)
		return;
	va_start(arguments, format);
	length = vsnprintf(room ? text->data + text->length : NULL, room, format, arguments);
	va_end(arguments);
	if (length >= 0 && (size_t)length < room) {
		text->length += (size_t)length;
		return;
	}
	if (room)
		text->data[text->length] = '\0';
	if (length < 0)
		text->failed = true;
	if (!text_reserve(text, (size_t)length))
		return;
	va_start(arguments, format);
	vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
	va_end(arguments);
	text->length += (size_t)length;
}

void text_truncate(struct text *text, size_t length)
{
	if (length >= text->length)
		return;
	text->length = length;
	text->data[length] = '\0';
}

/* More than 64 bits are an error, rather than their lower part. */
size_t hex_read(const char *text, size_t length, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < length && is_hex_digit(text[i]); i++) {
		if (value >> 60)
			return 0;
		value = value << 4 | hex_digit_value(text[i]);
	}
	if (i)
		*ret = value;
	return i;
}

void text_mask_controls(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A scheme has two characters or more: with one it is a drive. */
bool path_has_scheme(const char *path, size_t length)
{
	size_t end = 0;

	while (end < length && (is_letter(path[end]) || (path[end] >= '0' && path[end] <= '9') ||
				path[end] == '+' || path[end] == '-' || path[end] == '.'))
		end++;
	return end > 1 && end < length && path[end] == ':' && is_letter(path[0]);
}

const char *path_get_module(const char *path)
{
	return path_has_scheme(path, strlen(path)) ? path : path_basename(path);
}
