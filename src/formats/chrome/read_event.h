/*
 * An event of a trace of Chrome, and how its members are read.
 */
#ifndef FORMATS_CHROME_READ_EVENT_H
#define FORMATS_CHROME_READ_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"
#include "formats/import.h"
#include "formats/json_table.h"

#define CHROME_NOWHERE JSON_TABLE_NOWHERE

/* Reused for all events, so that its texts are allocated once. Zeroed at first. */
struct chrome_event {
	size_t offset;
	size_t args;  /* offset in the input; CHROME_NOWHERE */
	size_t stack; /* the same */
	uint64_t pid;
	uint64_t tid;
	uint64_t ts_ns;
	uint64_t dur_ns;
	char phase; /* 0: none */
	bool has_ts;
	bool has_bad_dur;  /* there is one, but it is not a number from 0 */
	bool has_local_id; /* another process may use it for something else */
	bool is_in_slice;  /* of a flow's end: it is of the slice around it, not the next one */
	struct text name;  /* is text, perhaps empty */
	struct text category;
	struct text id;
	struct text frame; /* the name of a stack frame */
};

/* Start over, with the event at the offset. */
void chrome_event_start(struct chrome_event *event, size_t offset);
void chrome_event_release(struct chrome_event *event);

static inline struct json chrome_open(const struct import *import, size_t position)
{
	return json_at(import->data, import->size, position);
}

/* A string of the profile. 0 or -ENOMEM. */
_must_check_ int chrome_add_string(struct profile *profile, const struct text *text, uint32_t *ret);
/* "0x1f", or a number as it is written; replaces the text. */
void chrome_take_id(struct json *json, struct text *text);

#endif
