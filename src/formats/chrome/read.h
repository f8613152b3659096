/*
 * What the parts of the reader of Chrome's traces share; see src/formats/import/chrome_trace.c.
 *
 * A slice is what the trace calls a duration: here not a zone yet, because its end may be another
 * event and its place among others is known when all are read.
 */
#ifndef FORMATS_CHROME_READ_H
#define FORMATS_CHROME_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/text.h"
#include "formats/chrome/cpu_nodes.h"
#include "formats/import.h"
#include "formats/json_table.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

#define CHROME_NOWHERE JSON_TABLE_NOWHERE

/* What slices are on: a thread, or an asynchronous operation of a process. */
struct chrome_track {
	uint64_t pid;
	uint64_t id;      /* tid, or a hash of what tells the operation apart */
	uint32_t name;    /* string */
	uint32_t process; /* of the profile */
	uint32_t thread;  /* of the profile; of an operation: a made up one */
	bool has_thread;
	bool is_async;
};

struct chrome_process {
	uint64_t pid;
	uint32_t process; /* of the profile */
};

enum chrome_slice_kind {
	CHROME_BEGIN,
	CHROME_END,
	CHROME_WHOLE,
	CHROME_INSTANT,
	CHROME_NOTHING, /* an end that was joined with its begin */
};

/* There are many: 32 bytes. */
struct chrome_slice {
	uint64_t start_ns; /* of an end: when that is */
	uint64_t end_ns;
	uint64_t offset;   /* of the event in the input: which of two came first */
	uint32_t location; /* of the profile */
	uint32_t track : 29;
	uint32_t kind : 3; /* enum chrome_slice_kind */
};

/* A CPU profile of V8, which comes in chunks. */
struct chrome_profile {
	uint64_t pid;
	uint32_t id; /* string */
	uint32_t track;
	struct chrome_cpu_nodes nodes;
};

/* A sample whose stack stands among the stack frames, by string; or is placed already. */
struct chrome_sample {
	uint64_t weight;
	uint32_t track;
	uint32_t metric;
	uint32_t frame; /* string, or stack of the profile */
	bool is_placed;
};

struct chrome_event {
	size_t offset;
	size_t args;  /* where they stand in the input; CHROME_NOWHERE */
	size_t stack; /* the same */
	uint64_t pid;
	uint64_t tid;
	uint64_t ts_ns;
	uint64_t dur_ns;
	char phase; /* 0: none */
	bool has_ts;
	bool has_global_id; /* that is not one of the process */
};

struct chrome_timeline;

struct chrome_reader {
	struct import *import;
	struct chrome_timeline *timeline; /* NULL: not wanted */
	ARRAY(struct chrome_track) tracks;
	struct hash_index track_index;
	struct hash_index tid_index; /* of threads: the first with the tid, of whatever process */
	ARRAY(struct chrome_process) processes;
	struct hash_index process_index;
	ARRAY(struct chrome_slice) slices;
	ARRAY(struct chrome_profile) profiles;
	ARRAY(struct chrome_sample) samples;
	struct chrome_cpu_nodes frames; /* by the string that names them */
	size_t frames_place;            /* where the stack frames stand; CHROME_NOWHERE */
	size_t samples_place;           /* the same of samples that are no events */
	bool has_too_many;              /* threads or slices: some were left out */
	uint64_t shift_ns;              /* is added to the times of events: none is before 0 */

	/* Of the event. */
	struct text name;
	struct text category;
	struct text id;
	struct text frame;
	struct text value;
};

static inline struct json chrome_open(const struct chrome_reader *reader, size_t place)
{
	return json_at(reader->import->data, reader->import->size, place);
}

/* A string of the profile. 0 or -ENOMEM. */
_must_check_ int chrome_add_string(struct chrome_reader *reader, const struct text *text,
				   uint32_t *ret);
/* "0x1f", or a number as it is written: in place of what the text holds. */
void chrome_take_id(struct json *json, struct text *text);

/* ---- chrome_tracks.c ---- */

/*
 * After JSON_KEY: a pid or tid. A name in its place is an id beyond those of the system. 0 or
 * -ENOMEM.
 */
_must_check_ int chrome_take_number(struct chrome_reader *reader, struct json *json, uint64_t *ret);
/*
 * The track of an event, of its thread or of its operation. *ret is HASH_INDEX_NONE when there are
 * too many. 0 or -ENOMEM.
 */
_must_check_ int chrome_find_track(struct chrome_reader *reader, const struct chrome_event *event,
				   bool is_async, uint32_t *ret);
/* The thread with this tid, of whatever process. *ret as above. 0 or -ENOMEM. */
_must_check_ int chrome_find_tid(struct chrome_reader *reader, uint64_t tid, uint32_t *ret);
/* The names of processes and threads. 0 or -ENOMEM. */
_must_check_ int chrome_read_metadata(struct chrome_reader *reader,
				      const struct chrome_event *event);
/* When all names are known: the thread of a track on which something weighs. 0 or -ENOMEM. */
_must_check_ int chrome_get_thread(struct chrome_reader *reader, uint32_t track, uint32_t *ret);

/* ---- chrome_samples.c ---- */

/* Whether an event of phase P or I is a piece of a CPU profile of V8. */
bool chrome_is_chunk(const struct chrome_reader *reader);
_must_check_ int chrome_read_chunk(struct chrome_reader *reader, const struct chrome_event *event);
_must_check_ int chrome_read_sample(struct chrome_reader *reader, const struct chrome_event *event);
/* When all is read, and before threads are made: samples that are no events. */
_must_check_ int chrome_read_samples(struct chrome_reader *reader);
_must_check_ int chrome_finish_samples(struct chrome_reader *reader);

/* ---- chrome_slices.c ---- */

_must_check_ int chrome_add_slice(struct chrome_reader *reader, const struct chrome_event *event,
				  enum chrome_slice_kind kind, bool is_async);
/* Into the profile, and into the timeline if there is one. 0, -ENOMEM or -EBADMSG. */
_must_check_ int chrome_finish_slices(struct chrome_reader *reader);

/* ---- chrome_timeline.c ---- */

/* NULL when out of memory. */
struct chrome_timeline *chrome_timeline_new(struct chrome_reader *reader);
void chrome_timeline_free(struct chrome_timeline *timeline);
/*
 * Add a slice that begins no earlier than those of its track before it.
 *
 * depth   how many slices of its track are around it
 * parent  the zone of the one right around it; TIMELINE_NONE
 */
_must_check_ int chrome_timeline_add(struct chrome_timeline *timeline,
				     const struct chrome_slice *slice, size_t depth,
				     uint32_t parent, uint32_t *ret);
/* The values of a counter's event. */
_must_check_ int chrome_timeline_add_counters(struct chrome_timeline *timeline,
					      const struct chrome_event *event);
/* When all is read: the names of processes. 0 or -ENOMEM. */
_must_check_ int chrome_timeline_finish(struct chrome_timeline *timeline);

#endif
