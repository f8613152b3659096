/*
 * The fields of a tracepoint's record, from its file `format` in tracefs: one line for each field,
 * starting with the fields common to all records.
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

/* Limit for the text. */
#define MAX_FORMAT_BYTES (1 << 20)

/*
 * Common start of all records: a type, flags and a pid. The kernel writes them after the programs
 * have run; the programs see other contents there.
 */
#define NUM_OVERWRITTEN_BYTES 8

enum field_kind {
	FIELD_NUMBER,   /* of 1, 2, 4 or 8 bytes; an address, too */
	FIELD_ARRAY,    /* text of at most `size` bytes: "char comm[16]" */
	FIELD_DATA_LOC, /* text elsewhere in the record: "__data_loc char[] name" */
	FIELD_REL_LOC,  /* the same, relative to the end of the field */
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
 * Parse the fields of a format, in its order; other lines are skipped.
 *
 * text  NUL-terminated; the names point into it
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int event_format_parse(const char *text, struct event_format *ret);

/* The field of that name, or NULL. Borrowed. */
const struct event_field *event_format_find(const struct event_format *format, const char *name,
					    size_t name_length);

#endif
