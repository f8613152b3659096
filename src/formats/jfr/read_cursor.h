/*
 * The bytes of a Java Flight Recorder file: numbers, and strings in five encodings.
 *
 * All reads are checked: a failed cursor gives 0 for everything.
 */
#ifndef FORMATS_JFR_READ_CURSOR_H
#define FORMATS_JFR_READ_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"

/* A cursor over the bytes of a chunk, or over those of one event. */
struct jfr_cursor {
	const uint8_t *data; /* of the chunk */
	size_t size;         /* the limit of reading */
	size_t offset;
	bool is_compressed; /* integers are LEB128, else big-endian */
	bool failed;
};

/* A fault of a chunk, and its place. */
struct jfr_fault {
	size_t offset; /* in the chunk */
	const char *what;
};

/* Note the fault, and return -EBADMSG. */
int jfr_fail(struct jfr_fault *fault, size_t offset, const char *what);

uint8_t jfr_read_byte(struct jfr_cursor *input);
/* A number of that many bytes, which no setting compresses: of a header, or a float. */
uint64_t jfr_read_big_endian(struct jfr_cursor *input, unsigned int width_bytes);
/* A number that takes so many bytes if integers are not compressed. */
uint64_t jfr_read_integer(struct jfr_cursor *input, unsigned int width_bytes);
static inline uint64_t jfr_read_int(struct jfr_cursor *input)
{
	return jfr_read_integer(input, 4);
}
static inline uint64_t jfr_read_long(struct jfr_cursor *input)
{
	return jfr_read_integer(input, 8);
}
/*
 * Skip a string or, if text is not NULL, append it as UTF-8. If the string is a constant, returns
 * its key and appends nothing; else returns 0.
 */
uint64_t jfr_read_plain_string(struct jfr_cursor *input, struct text *text);
/* Whether the string at the cursor is this text, which is ASCII. The caller's cursor stays. */
bool jfr_string_equals(struct jfr_cursor input, const char *text);

#endif
