/*
 * What a tracepoint's record is made of, as its file `format` in tracefs has it: a line a field, those that all
 * records begin with first.
 *
 *	field:unsigned int nr_bytes;	offset:28;	size:4;	signed:0;
 */
#ifndef COLLECT_EVENTS_EVENT_FORMAT_H
#define COLLECT_EVENTS_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"

/* Of the text. */
#define MAX_FORMAT_BYTES (1 << 20)

/*
 * What all records begin with: a type, flags and a pid. The kernel puts them there behind the programs, which find
 * something else.
 */
#define NUM_OVERWRITTEN_BYTES 8

enum field_kind {
	FIELD_NUMBER,   /* of 1, 2, 4 or 8 bytes; an address, too */
	FIELD_ARRAY,    /* text of at most so many bytes: "char comm[16]" */
	FIELD_DATA_LOC, /* text elsewhere in the record: "__data_loc char[] name" */
	FIELD_REL_LOC,  /* the same, counted from behind the field */
	FIELD_POINTER,  /* the address of a text: "const char *filename" */
	FIELD_OTHER,    /* neither a number nor text */
};

struct event_field {
	const char *name; /* as long as the text; not NUL-terminated */
	size_t name_length;
	enum field_kind kind;
	uint16_t offset;
	uint16_t size;
	bool is_signed;
	bool is_amount; /* a number that can be added up: no address and no part of an array */
};

struct event_format {
	ARRAY(struct event_field) fields;
};
void event_format_release(struct event_format *format);

/*
 * The fields of a format, in its order; what is no line of a field is skipped.
 *
 * text  NUL-terminated; the names lie in it
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int event_format_parse(const char *text, struct event_format *ret);

/* NULL: there is none of that name. Borrowed. */
const struct event_field *event_format_find(const struct event_format *format, const char *name,
					    size_t name_length);

#endif
