/*
 * A piece of a text that is being read, and the text's lines one after the other. Nothing is
 * copied: pieces are borrowed for as long as the text is.
 */
#ifndef FORMATS_PIECE_H
#define FORMATS_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct piece {
	const char *start; /* no NUL ends it */
	size_t length;     /* in bytes */
};

/* A text of which some lines are taken already. */
struct lines {
	const char *next;
	const char *end;
	uint64_t number; /* of the line last taken, from 1 */
};

struct lines lines_of(const void *data, size_t size);
/* The next line without its end, which is LF or CRLF. False when there is none. */
bool lines_take(struct lines *lines, struct piece *ret);

bool piece_equals(struct piece piece, const char *text);
bool piece_starts_with(struct piece piece, const char *text);
bool piece_ends_with(struct piece piece, const char *text);
bool piece_contains(struct piece piece, const char *text);

/* A space, or a control character that moves on as one: tab, line feed, … */
static inline bool is_blank_char(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Without the blanks at both ends. */
struct piece piece_trim(struct piece piece);

#endif
