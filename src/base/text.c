#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/array.h"

void text_release(struct text *text)
{
	free(text->data);
	*text = (struct text){0};
}

/*
 * Room for `more` bytes and the final NUL. Once it has failed, a text stays so and takes nothing
 * more: who appends looks at `failed` once, at the end.
 */
static bool text_reserve(struct text *text, size_t more)
{
	size_t wanted;

	if (text->failed)
		return false;
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

void text_append_string(struct text *text, const char *string)
{
	text_append(text, string, strlen(string));
}

void text_append_char(struct text *text, char c)
{
	text_append(text, &c, 1);
}

void text_append_number(struct text *text, uint64_t number)
{
	char digits[20]; /* of UINT64_MAX */
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	text_append(text, digits + first, sizeof(digits) - first);
}

/* Twice: the first time only to know the length. */
void text_printf(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0)
		text->failed = true;
	if (length < 0 || !text_reserve(text, (size_t)length))
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

/* More than 64 bits are no number, rather than its lower part. */
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

const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
