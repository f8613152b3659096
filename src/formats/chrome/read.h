/*
 * What the parts of the reader of Chrome's traces share; see read.c.
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
#include "formats/chrome/read_event.h"
#include "formats/chrome/read_samples.h"
#include "formats/chrome/read_slices.h"
#include "formats/chrome/read_timeline.h"
#include "formats/chrome/read_tracks.h"
#include "formats/import.h"
#include "formats/json_table.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

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

#endif
