/*
 * Slices: their start and end events, until all are read (read/events.h), and the zones that they
 * become (read/zones.h).
 */
#ifndef FORMATS_PERFETTO_READ_SLICES_H
#define FORMATS_PERFETTO_READ_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/event_type.h"
#include "formats/perfetto/read/code.h"
#include "formats/perfetto/read/samples.h"
#include "formats/perfetto/read/tracks.h"

/* A TrackEvent: its numbers by field. */
struct perfetto_track_event {
	uint64_t type;
	uint64_t track;
	uint32_t name; /* string of the timeline */
	uint32_t function;
	uint32_t file;
	uint32_t line;
	uint64_t extra_counter;
	uint64_t duration_ns; /* of a complete event, whose type is that of a start */
	uint64_t callstack;   /* iid; 0: none */
	struct bytes named_stack;
	bool is_complete;
	bool is_floating;
	bool has_value;
	int64_t value;
	double floating_value;
};

/* The start or end of a slice. */
struct perfetto_event {
	uint64_t time_ns;
	uint64_t end_ns; /* of a complete slice; else 0 */
	uint64_t fill_bytes;
	uint32_t location;  /* of the timeline; TIMELINE_NONE: an end */
	uint32_t attribute; /* the last one's place + 1; 0: none */
	uint32_t next;      /* on its track */
};

struct perfetto_attribute {
	struct zone_attribute attribute; /* .next is the place + 1 of the one before */
};

/* The last instant that was a wakeup; the wait that it ended is next. */
struct perfetto_wakeup {
	uint64_t flow;   /* 0: no wakeup yet */
	uint32_t thread; /* of the timeline; owner of the wakeup's track */
	uint32_t stack;
	uint32_t waker_name; /* string of the timeline */
};

/* Slices, until all are there and become zones and occupancies. */
struct perfetto_slices {
	struct perfetto_trace *trace;        /* borrowed */
	struct perfetto_track_table *tracks; /* borrowed */
	struct perfetto_samples *samples;    /* borrowed: events with stacks are some */
	struct perfetto_code *code;          /* borrowed */
	ARRAY(struct perfetto_event) events;
	ARRAY(struct perfetto_attribute) attributes;
	struct hash_index locations; /* of the timeline */
	uint32_t first_zone;         /* of the timeline, that is this trace's */
	uint64_t last_ns;            /* time of the last event */
	uint64_t num_skipped;        /* ends without a start, and excess events */
	uint64_t num_stacks;         /* of slices: a timeline has no place for them */
	struct perfetto_wakeup wakeup;
	struct text text;
};

#endif
