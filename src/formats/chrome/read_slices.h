/*
 * Slices of a trace of Chrome, which calls them durations: not zones yet, because the end of one
 * may be another event and its place among others is known when all are read.
 */
#ifndef FORMATS_CHROME_READ_SLICES_H
#define FORMATS_CHROME_READ_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "formats/chrome/read_tracks.h"

struct chrome_timeline;

enum chrome_slice_kind {
	CHROME_START,
	CHROME_END,
	CHROME_WHOLE,
	CHROME_INSTANT,
	CHROME_NOTHING, /* an end that was joined with its start */
	/* Not slices, but flows that join some; `location` is the number of the flow. */
	CHROME_FLOW,          /* of the slice that is innermost then */
	CHROME_FLOW_END,      /* the same, and the last one */
	CHROME_FLOW_END_NEXT, /* of the next one that starts, and the last one */
};

/* There are many: 32 bytes. */
struct chrome_slice {
	uint64_t start_ns; /* of an end: when that is */
	uint64_t end_ns;
	uint64_t offset;   /* of the event in the input: for the order of two */
	uint32_t location; /* of the profile */
	uint32_t track : 29;
	uint32_t kind : 3; /* enum chrome_slice_kind */
};

struct chrome_slices {
	struct import *import; /* borrowed, as the following two */
	struct chrome_tracks *tracks;
	struct chrome_timeline *timeline; /* NULL: not requested */
	ARRAY(struct chrome_slice) items;
	ARRAY(uint64_t) flows; /* identifier of each */
	bool has_too_many;     /* some were left out */
};

void chrome_slices_init(struct chrome_slices *slices, struct import *import,
			struct chrome_tracks *tracks, struct chrome_timeline *timeline);
void chrome_slices_release(struct chrome_slices *slices);

/* 0 or -ENOMEM, or -EBADMSG of a strict import. */
_must_check_ int chrome_slices_add(struct chrome_slices *slices, const struct chrome_event *event,
				   enum chrome_slice_kind kind, bool is_async);
/* The same of a flow, which a timeline has alone. kind  CHROME_FLOW or one of those behind it */
_must_check_ int chrome_slices_add_flow(struct chrome_slices *slices,
					const struct chrome_event *event,
					enum chrome_slice_kind kind);
/* Into the profile, and into the timeline if there is one. 0, -ENOMEM or -EBADMSG. */
_must_check_ int chrome_slices_finish(struct chrome_slices *slices);

#endif
