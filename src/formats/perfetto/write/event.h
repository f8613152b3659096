/*
 * Events on the tracks of a Perfetto trace, one at a time: start one, fill it, add it. A writer
 * writes one sequence at a time, and takes care of the names that are emitted on it.
 */
#ifndef FORMATS_PERFETTO_WRITE_EVENT_H
#define FORMATS_PERFETTO_WRITE_EVENT_H

#include "base/array.h"
#include "formats/perfetto/event_type.h"
#include "formats/perfetto/write/names.h"
#include "formats/perfetto/write/stacks.h"
#include "formats/perfetto/write/stream.h"
#include "timeline/timeline.h"

/* A string of the timeline, or, if data is not NULL, any bytes. */
struct perfetto_event_string {
	const char *data; /* borrowed for the call */
	size_t length;
	uint32_t id;
};

struct perfetto_event_writer {
	const struct timeline *timeline;
	struct perfetto_stream *stream;
	struct perfetto_names *names;
	struct perfetto_stacks *stacks; /* borrowed; NULL: no event has any */
	enum perfetto_sequence_id sequence;
	uint64_t state_bytes; /* written since the state was cleared */
	struct text text;
	/* The event that is being made. */
	Perfetto__TrackEvent event;
	ARRAY(uint64_t) categories;
	ARRAY(uint64_t) flows;
	ARRAY(uint64_t) terminating_flows;
	ARRAY(Perfetto__DebugAnnotation) annotations;
	ARRAY(Perfetto__DebugAnnotation *) annotation_pointers;
	Perfetto__DebugAnnotation parameters;
	Perfetto__DebugAnnotation *parameters_pointer;
	uint64_t counter_uuid;
	int64_t counter_value;
};

/* Both are borrowed. 0 or -ENOMEM; release it in either case. */
_must_check_ int perfetto_event_writer_init(struct perfetto_event_writer *writer,
					    const struct timeline *timeline,
					    struct perfetto_stream *stream);
void perfetto_event_writer_release(struct perfetto_event_writer *writer);

/* The following events are on this sequence, which must be new. */
_must_check_ int perfetto_event_writer_start_sequence(struct perfetto_event_writer *writer,
						      enum perfetto_sequence_id sequence);

/* A new event, with the common fields of its type. It is the writer's. */
Perfetto__TrackEvent *perfetto_event_writer_start(struct perfetto_event_writer *writer,
						  enum perfetto_event_type type,
						  uint64_t track_uuid);
/* Write it. Returns 0 or a stream's error, as the functions below do. */
_must_check_ int perfetto_event_writer_add(struct perfetto_event_writer *writer, uint64_t time_ns);

/* Optional contents of an event, in any order, before it is added. */
_must_check_ int perfetto_event_writer_set_name(struct perfetto_event_writer *writer,
						const struct perfetto_event_string *name);
_must_check_ int perfetto_event_writer_set_text(struct perfetto_event_writer *writer,
						const char *name);
_must_check_ int perfetto_event_writer_add_category(struct perfetto_event_writer *writer,
						    const struct perfetto_event_string *category);
_must_check_ int perfetto_event_writer_add_flow(struct perfetto_event_writer *writer, uint64_t flow,
						bool is_terminating);
/* A stack of the profile, emitted before if it is not yet; for a writer that has stacks. */
_must_check_ int perfetto_event_writer_set_stack(struct perfetto_event_writer *writer,
						 uint32_t stack);
/* A counter that changes with the event. */
void perfetto_event_writer_set_counter(struct perfetto_event_writer *writer, uint64_t track_uuid,
				       uint64_t value);
/* A parameter of a zone; `string` is its value if that is a string. */
_must_check_ int perfetto_event_writer_add_parameter(struct perfetto_event_writer *writer,
						     const struct zone_attribute *parameter,
						     const struct perfetto_event_string *string);
/* All parameters are there. */
_must_check_ int perfetto_event_writer_close_parameters(struct perfetto_event_writer *writer);
/* An annotation of our own, and the end of these. */
_must_check_ int perfetto_event_writer_add_annotation(struct perfetto_event_writer *writer,
						      const char *name, uint64_t value,
						      bool is_pointer);
/* The same with a string. */
_must_check_ int perfetto_event_writer_add_string(struct perfetto_event_writer *writer,
						  const char *name,
						  const struct perfetto_event_string *string);
_must_check_ int perfetto_event_writer_close_annotations(struct perfetto_event_writer *writer);

/* Whole events: the value of a counter from now on. */
_must_check_ int perfetto_event_writer_add_counter(struct perfetto_event_writer *writer,
						   uint64_t track_uuid, uint64_t time_ns,
						   int64_t value);
_must_check_ int perfetto_event_writer_add_value(struct perfetto_event_writer *writer,
						 uint64_t track_uuid,
						 const struct counter_value *value);

#endif
