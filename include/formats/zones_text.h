/*
 * The text of zones: what reader and writer share, and the reader's cutting of a line into fields
 * and numbers.
 *
 * One record a line; fields are separated by commas, and blanks around them do not count. A field
 * in quotes may hold commas and blanks, and quotes when they are doubled.
 */
#ifndef FORMATS_ZONES_TEXT_H
#define FORMATS_ZONES_TEXT_H

#include "base/text.h"
#include "formats/format.h"
#include "formats/import.h"
#include "formats/zones_builder.h"
#include "timeline/timeline.h"

/* A comment that says from which process the records below it are: pid, blank, name. */
#define ZONES_PROCESS_MARK "#! process "

/* What the process of a text without that comment is called. */
#define ZONES_PROCESS_NAME "Stacks and zones"

#define ZONES_MAX_FIELDS 6

struct zones_line {
	struct import *import; /* gets the errors */
	uint64_t number;
	const char *data; /* borrowed */
	size_t length;
	/* Point into the line, or into `unquoted`; valid until the next split. */
	struct zones_string fields[ZONES_MAX_FIELDS];
	size_t num_fields; /* may be more than there is room for */
	struct text unquoted;
};

bool zones_is_blank(char c);
struct zones_string zones_trim(struct zones_string string);

/* Fill fields from data. Returns 0, -ENOMEM, or -EBADMSG with the error set. */
_must_check_ int zones_line_split(struct zones_line *line);

/*
 * One field as a number. Returns 0, or -EBADMSG with the error set.
 *
 * what   what was expected, for the message: "a time"
 */
_must_check_ int zones_line_read_unsigned(struct zones_line *line, size_t field, const char *what,
					  uint64_t *ret);
/* An id may be any integer; what counts are its lowest 64 bits. */
_must_check_ int zones_line_read_id(struct zones_line *line, size_t field, const char *what,
				    uint64_t *ret);
/* Decimal, or hexadecimal after 0x. */
_must_check_ int zones_line_read_pointer(struct zones_line *line, size_t field, uint64_t *ret);
_must_check_ int zones_line_read_u32(struct zones_line *line, size_t field, const char *what,
				     uint32_t *ret);
/* An integer of 64 bits or a finite decimal; fills value and type. */
_must_check_ int zones_line_read_value(struct zones_line *line, size_t field,
				       struct counter_value *ret);

/* Decimal digits, at least one; whether they are. The value is taken modulo 2^64. */
bool zones_read_digits(struct zones_string digits, uint64_t *ret, bool *ret_overflows);

/* See struct format. */
_must_check_ int zones_read(struct import *import);
enum detection zones_detect(const uint8_t *data, size_t size);
/* Of the binary kind; see zones/read_binary.c. */
bool zones_is_capture(const uint8_t *data, size_t size);

/* For messages: short, and nothing in it that moves a cursor. */
struct zones_shown {
	char text[44];
};
struct zones_shown zones_show(struct zones_string string);

#endif
