#include "formats/slice.h"

#include <string.h>

/* An empty input may have no memory at all; pointer arithmetic needs some. */
struct lines lines_of(const void *data, size_t size)
{
	const char *text = data ? data : "";

	return (struct lines){.next = text, .end = text + size};
}

/* The last line need not end in a line feed. */
bool lines_take(struct lines *lines, struct slice *ret)
{
	size_t left = (size_t)(lines->end - lines->next);
	const char *newline = left ? memchr(lines->next, '\n', left) : NULL;

	if (!left)
		return false;
	ret->start = lines->next;
	ret->length = newline ? (size_t)(newline - lines->next) : left;
	lines->next = newline ? newline + 1 : lines->end;
	lines->number++;
	lines->is_unended = !newline;
	if (!lines->first_nul && memchr(ret->start, '\0', ret->length))
		lines->first_nul = lines->number;
	if (ret->length && ret->start[ret->length - 1] == '\r')
		ret->length--;
	return true;
}

bool slice_equals(struct slice slice, const char *text)
{
	return slice.length == strlen(text) && memcmp(slice.start, text, slice.length) == 0;
}

bool slice_starts_with(struct slice slice, const char *text)
{
	size_t length = strlen(text);

	return slice.length >= length && memcmp(slice.start, text, length) == 0;
}

bool slice_ends_with(struct slice slice, const char *text)
{
	size_t length = strlen(text);

	return slice.length >= length &&
	       memcmp(slice.start + slice.length - length, text, length) == 0;
}

/* Slices may hold NUL bytes, which strstr() would stop at. */
bool slice_contains(struct slice slice, const char *text)
{
	return memmem(slice.start, slice.length, text, strlen(text));
}

struct slice slice_trim(struct slice slice)
{
	while (slice.length && is_blank_char(slice.start[0]))
		slice.start++, slice.length--;
	while (slice.length && is_blank_char(slice.start[slice.length - 1]))
		slice.length--;
	return slice;
}
