/*
 * A slice of a text that is being read, and the text's lines one after the other. Nothing is
 * copied: slices are borrowed for as long as the text is.
 */
#ifndef FORMATS_SLICE_H
#define FORMATS_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slice {
	const char *start; /* no NUL ends it */
	size_t length;     /* in bytes */
};

/* A text; the lines before `next` are taken already. */
struct lines {
	const char *next;
	const char *end;
	uint64_t number;    /* of the line last taken, from 1 */
	uint64_t first_nul; /* number of the first line with a NUL byte; 0: no such line */
	bool is_unended;    /* the last line has been taken, and has no line feed */
};

struct lines lines_of(const void *data, size_t size);
/* The next line without its end, which is LF or CRLF. False at the end. */
bool lines_take(struct lines *lines, struct slice *ret);

bool slice_equals(struct slice slice, const char *text);
bool slice_starts_with(struct slice slice, const char *text);
bool slice_ends_with(struct slice slice, const char *text);
bool slice_contains(struct slice slice, const char *text);

/* A space, or a control character with the same effect: tab, line feed, … */
static inline bool is_blank_char(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Without the blanks at both ends. */
struct slice slice_trim(struct slice slice);

#endif
