#include "formats/piece.h"

#include <string.h>

struct lines lines_of(const void *data, size_t size)
{
	const char *text = data ? data : "";

	return (struct lines){.next = text, .end = text + size};
}

bool lines_take(struct lines *lines, struct piece *ret)
{
	size_t left = (size_t)(lines->end - lines->next);
	const char *newline = left ? memchr(lines->next, '\n', left) : NULL;

	if (!left)
		return false;
	ret->start = lines->next;
	ret->length = newline ? (size_t)(newline - lines->next) : left;
	lines->next = newline ? newline + 1 : lines->end;
	lines->number++;
	if (ret->length && ret->start[ret->length - 1] == '\r')
		ret->length--;
	return true;
}

bool piece_equals(struct piece piece, const char *text)
{
	return piece.length == strlen(text) && memcmp(piece.start, text, piece.length) == 0;
}

bool piece_starts_with(struct piece piece, const char *text)
{
	size_t length = strlen(text);

	return piece.length >= length && memcmp(piece.start, text, length) == 0;
}

bool piece_ends_with(struct piece piece, const char *text)
{
	size_t length = strlen(text);

	return piece.length >= length &&
	       memcmp(piece.start + piece.length - length, text, length) == 0;
}

bool piece_contains(struct piece piece, const char *text)
{
	return memmem(piece.start, piece.length, text, strlen(text));
}

struct piece piece_trim(struct piece piece)
{
	while (piece.length && is_blank_char(piece.start[0]))
		piece.start++, piece.length--;
	while (piece.length && is_blank_char(piece.start[piece.length - 1]))
		piece.length--;
	return piece;
}
