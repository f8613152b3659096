/*
 * Reading Perfetto traces: track events, which start and end slices and change counters.
 *
 * Values of counters go into the timeline at once. The starts and ends of slices are kept, in a
 * list for each track, until all are read: packets need not be in order of time, and an end names
 * only its track, not its slice (read/zones.c).
 *
 * An event is read twice: first its numbers, since its track decides how it is used, then, if it is
 * a slice's, its attributes.
 */
#include "formats/perfetto/read/events.h"

#include <errno.h>
#include <inttypes.h>

#include "formats/perfetto/read/owners.h"
#include "formats/perfetto/read/regions.h"
#include "formats/perfetto/read/waits.h"
#include "formats/perfetto/task_events.h"

/* Annotations in annotations. */
#define MAX_ANNOTATION_DEPTH 4
#define MAX_NAME_BYTES       1024

/* The annotation for the parameters of a zone in our traces; they have no prefix. */
#define PARAMETERS_NAME "Parameters"

/* ---- numbers and names -------------------------------------------------------------------- */

static double to_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int read_source(struct perfetto_slices *slices, struct bytes message,
		       struct perfetto_track_event *event)
{
	struct protobuf_field field;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(slices->trace, field.body, &event->file);
		else if (field.number == 3 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(slices->trace, field.body, &event->function);
		else if (field.number == 4 && field.type == PROTOBUF_VARINT)
			event->line = (uint32_t)field.value;
		if (err)
			return err;
	}
	return 0;
}

static void use_source(const struct perfetto_packet *packet, uint64_t iid,
		       struct perfetto_track_event *event)
{
	const struct perfetto_source *source =
		perfetto_interned_find_source(packet->sequence->interned, iid);

	if (!source)
		return;
	event->file = source->file;
	event->function = source->function;
	event->line = source->line;
}

/* The first number of a repeated field, packed or not. */
static uint64_t read_first(const struct protobuf_field *field)
{
	struct bytes body = field->body;

	return field->type == PROTOBUF_BYTES ? protobuf_read_varint(&body) : field->value;
}

/*
 * LegacyEvent: a phase in Chrome's own format: B, E, X (complete: with its duration), I. Those of
 * other threads than the track's, and of asynchronous work, are left as unknown.
 */
static void read_legacy(const struct perfetto_packet *packet, struct bytes message,
			struct perfetto_track_event *event)
{
	struct protobuf_field field;
	uint64_t duration_us = 0;
	uint64_t phase = 0;
	bool is_elsewhere = false;

	while (protobuf_next(&message, &field)) {
		if (field.type != PROTOBUF_VARINT)
			continue;
		if (field.number == 1 && event->name == STRING_EMPTY)
			event->name = perfetto_find_string(packet, PERFETTO_INTERNED_EVENT_NAME,
							   field.value);
		else if (field.number == 2)
			phase = field.value;
		else if (field.number == 3)
			duration_us = field.value;
		else if (field.number == 18 || field.number == 19)
			is_elsewhere = true;
	}
	if (is_elsewhere)
		return;
	if (phase == 'B' || phase == 'X')
		event->type = EVENT_START;
	else if (phase == 'E')
		event->type = EVENT_END;
	else if (phase == 'I' || phase == 'i')
		event->type = EVENT_INSTANT;
	event->is_complete = phase == 'X';
	if (__builtin_mul_overflow(duration_us, 1000, &event->duration_ns))
		event->duration_ns = UINT64_MAX;
}

/* Numbers of fields are those of track_event.proto. */
static const uint8_t event_field_types[] = {
	[6] = PROTOBUF_SET(PROTOBUF_BYTES),
	[9] = PROTOBUF_SET(PROTOBUF_VARINT),
	[10] = PROTOBUF_SET(PROTOBUF_VARINT),
	[11] = PROTOBUF_SET(PROTOBUF_VARINT),
	[12] = PROTOBUF_REPEATED,
	[23] = PROTOBUF_SET(PROTOBUF_BYTES),
	[30] = PROTOBUF_SET(PROTOBUF_VARINT),
	[33] = PROTOBUF_SET(PROTOBUF_BYTES),
	[34] = PROTOBUF_SET(PROTOBUF_VARINT),
	[44] = PROTOBUF_SET(PROTOBUF_FIXED64),
	[55] = PROTOBUF_SET(PROTOBUF_BYTES),
	[56] = PROTOBUF_SET(PROTOBUF_VARINT),
};

static int read_event_field(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			    const struct protobuf_field *field, struct perfetto_track_event *event)
{
	if (!protobuf_fits(field, event_field_types, ARRAY_LENGTH(event_field_types)))
		return 0;
	switch (field->number) {
	case 6:
		read_legacy(packet, field->body, event);
		return 0;
	case 9:
		event->type = field->value;
		return 0;
	case 10:
		event->name =
			perfetto_find_string(packet, PERFETTO_INTERNED_EVENT_NAME, field->value);
		return 0;
	case 11:
		event->track = field->value;
		return 0;
	case 12:
		event->extra_counter = read_first(field);
		return 0;
	case 23:
		return perfetto_add_string(slices->trace, field->body, &event->name);
	case 30:
		event->has_value = true;
		event->value = (int64_t)field->value;
		return 0;
	case 33:
		return read_source(slices, field->body, event);
	case 34:
		use_source(packet, field->value, event);
		return 0;
	case 44:
		event->has_value = event->is_floating = true;
		event->floating_value = to_double(field->value);
		return 0;
	case 55:
		event->named_stack = field->body;
		return 0;
	case 56:
		event->callstack = field->value;
		return 0;
	}
	return 0;
}

/* ---- attributes --------------------------------------------------------------------------- */

/*
 * The attributes of a slice are a list, the last one first; numbers count from 1, so that 0 ends
 * it.
 */
static int add_attribute(struct perfetto_slices *slices, const struct zone_attribute *attribute,
			 uint32_t *last)
{
	struct perfetto_attribute *added;

	if (!perfetto_has_room(slices->trace, slices->attributes.length, 8))
		return 0;
	added = array_add(&slices->attributes);
	if (!added)
		return -ENOMEM;
	added->attribute = *attribute;
	added->attribute.next = *last;
	*last = (uint32_t)slices->attributes.length;
	return 0;
}

/*
 * The value of an annotation; *has_value is false if we cannot hold a field of that type. A pointer
 * is a number like any other here.
 */
static int read_value(struct perfetto_slices *slices, const struct perfetto_packet *packet,
		      const struct protobuf_field *field, struct zone_attribute *attribute,
		      bool *has_value)
{
	*has_value = true;
	switch (field->number) {
	case 2:
		attribute->type = VALUE_BOOL;
		attribute->value.boolean = field->value != 0;
		return 0;
	case 3:
	case 7:
		attribute->type = VALUE_U64;
		attribute->value.u64 = field->value;
		return 0;
	case 4:
		attribute->type = VALUE_I64;
		attribute->value.i64 = (int64_t)field->value;
		return 0;
	case 5:
		attribute->type = VALUE_DOUBLE;
		attribute->value.number = to_double(field->value);
		return 0;
	case 6:
		attribute->type = VALUE_STRING;
		return perfetto_add_string(slices->trace, field->body, &attribute->value.string);
	case 17:
		attribute->type = VALUE_STRING;
		attribute->value.string =
			perfetto_find_string(packet, PERFETTO_INTERNED_STRING_VALUE, field->value);
		return 0;
	}
	*has_value = false;
	return 0;
}

static bool is_value(const struct protobuf_field *field)
{
	if (field->number == 5)
		return field->type == PROTOBUF_FIXED64;
	return field->type == (field->number == 6 ? PROTOBUF_BYTES : PROTOBUF_VARINT);
}

/* Append an annotation's name to slices->text, after a dot; of an array's item, "[number]". */
static void append_name(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			struct bytes message, size_t item)
{
	struct bytes name = bytes_of("", 0);
	struct protobuf_field field;
	size_t before = slices->text.length;

	while (protobuf_next(&message, &field)) {
		if (field.number == 10 && field.type == PROTOBUF_BYTES) {
			name = field.body;
		} else if (field.number == 1 && field.type == PROTOBUF_VARINT) {
			uint32_t id = perfetto_find_string(
				packet, PERFETTO_INTERNED_ANNOTATION_NAME, field.value);
			const struct string_table *strings =
				timeline_get_strings(slices->trace->timeline);

			name = bytes_of(string_table_get(strings, id),
					string_table_get_length(strings, id));
		}
	}
	if (name.size > MAX_NAME_BYTES)
		name.size = MAX_NAME_BYTES;
	if (before && name.size)
		text_append_char(&slices->text, '.');
	text_append(&slices->text, name.data, name.size);
	if (before && !name.size)
		text_printf(&slices->text, "[%zu]", item);
}

/* Nested annotations become attributes with dotted names, but for our own parameters. */
static int read_annotation(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			   struct bytes message, size_t item, unsigned int depth, uint32_t *last)
{
	struct zone_attribute attribute = {.kind = ATTRIBUTE_PARAMETER};
	size_t length = slices->text.length;
	struct protobuf_field field;
	bool has_value;
	size_t num_items = 0;
	int err = 0;

	append_name(slices, packet, message, item);
	if (slices->text.failed)
		return -ENOMEM;
	if (!depth && slices->text.length == strlen(PARAMETERS_NAME) &&
	    !memcmp(slices->text.data, PARAMETERS_NAME, slices->text.length))
		text_truncate(&slices->text, length);
	while (protobuf_next(&message, &field)) {
		if ((field.number == 11 || field.number == 12) && field.type == PROTOBUF_BYTES) {
			if (depth < MAX_ANNOTATION_DEPTH)
				err = read_annotation(slices, packet, field.body, num_items++,
						      depth + 1, last);
			if (err)
				return err;
			continue;
		}
		if (!is_value(&field))
			continue;
		err = read_value(slices, packet, &field, &attribute, &has_value);
		if (err)
			return err;
		if (!has_value)
			continue;
		err = timeline_add_bytes(slices->trace->timeline,
					 slices->text.length ? slices->text.data : "",
					 slices->text.length, &attribute.name);
		if (err)
			return err;
		err = add_attribute(slices, &attribute, last);
		if (err)
			return err;
	}
	text_truncate(&slices->text, length);
	return 0;
}

static int read_number(struct perfetto_slices *slices, const struct perfetto_packet *packet,
		       uint64_t number, struct zone_attribute *attribute, uint32_t *last)
{
	if (attribute->kind == ATTRIBUTE_CATEGORY)
		attribute->value.string =
			perfetto_find_string(packet, PERFETTO_INTERNED_CATEGORY, number);
	else
		attribute->value.u64 = number;
	return add_attribute(slices, attribute, last);
}

/*
 * A list of categories or flows: one field for each, or all of them packed into one, as varints
 * (categories) or as fixed 64-bit numbers (flows).
 */
static int read_numbers(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			const struct protobuf_field *field, struct zone_attribute *attribute,
			uint32_t *last)
{
	struct bytes body = field->body;

	if (field->type != PROTOBUF_BYTES)
		return read_number(slices, packet, field->value, attribute, last);
	while (bytes_left(&body)) {
		uint64_t number = attribute->kind == ATTRIBUTE_CATEGORY
					  ? protobuf_read_varint(&body)
					  : bytes_u64(&body);
		int err = read_number(slices, packet, number, attribute, last);

		if (err)
			return err;
	}
	return 0;
}

static int read_attribute(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			  const struct protobuf_field *field, uint32_t *last)
{
	struct zone_attribute attribute = {.kind = ATTRIBUTE_CATEGORY};
	int err;

	switch (field->number) {
	case 3:
		return read_numbers(slices, packet, field, &attribute, last);
	case 22:
		err = perfetto_add_string(slices->trace, field->body, &attribute.value.string);
		if (err)
			return err;
		return add_attribute(slices, &attribute, last);
	case 4:
		text_truncate(&slices->text, 0);
		return field->type == PROTOBUF_BYTES
			       ? read_annotation(slices, packet, field->body, 0, 0, last)
			       : 0;
	case 36: /* as it was before it became 47 */
	case 47:
		attribute.kind = ATTRIBUTE_FLOW;
		return read_numbers(slices, packet, field, &attribute, last);
	case 42:
	case 48:
		attribute.kind = ATTRIBUTE_TERMINATING_FLOW;
		return read_numbers(slices, packet, field, &attribute, last);
	}
	return 0;
}

/* ---- slices ------------------------------------------------------------------------------- */

static bool is_location(const void *owner, uint32_t item, const void *key)
{
	return !memcmp(timeline_get_location(owner, item), key, sizeof(struct source_location));
}

static int find_location(struct perfetto_slices *slices, const struct perfetto_track_event *event,
			 uint32_t *ret)
{
	struct source_location location = {
		.name = event->name,
		.function = event->function,
		.file = event->file,
		.line = event->line,
	};
	uint64_t hash = hash_bytes(&location, sizeof(location));
	int err;

	*ret = hash_index_find(&slices->locations, hash, is_location, slices->trace->timeline,
			       &location);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	err = timeline_add_location(slices->trace->timeline, &location, ret);
	if (err)
		return err;
	return hash_index_add(&slices->locations, hash, *ret);
}

static int add_event(struct perfetto_slices *slices, struct perfetto_track *track,
		     const struct perfetto_event *event)
{
	struct perfetto_event *added = array_add(&slices->events);
	uint32_t place = (uint32_t)(slices->events.length - 1);

	if (!added || place == PERFETTO_NONE)
		return -ENOMEM;
	*added = *event;
	added->next = PERFETTO_NONE;
	if (track->last_event == PERFETTO_NONE) {
		track->first_event = place;
	} else {
		struct perfetto_event *last = &slices->events.items[track->last_event];

		last->next = place;
		track->is_unsorted |= last->time_ns > event->time_ns;
	}
	track->last_event = place;
	return 0;
}

static int read_slice(struct perfetto_slices *slices, const struct perfetto_packet *packet,
		      struct bytes message, const struct perfetto_track_event *event,
		      struct perfetto_track *track)
{
	struct perfetto_event added = {
		.time_ns = packet->time_ns,
		.fill_bytes = event->extra_counter,
		.location = TIMELINE_NONE,
	};
	struct protobuf_field field;
	int err = 0;

	if (track->role == PERFETTO_STACK_IN_USE)
		return 0;
	if (packet->time_ns > slices->last_ns)
		slices->last_ns = packet->time_ns;
	if (!slices->trace->import->timeline && track->role != PERFETTO_REGION)
		message.size = message.offset; /* a profile has no use for attributes */
	while (protobuf_next(&message, &field)) {
		err = read_attribute(slices, packet, &field, &added.attribute);
		if (err)
			return err;
	}
	if (event->type == EVENT_START) {
		err = find_location(slices, event, &added.location);
		if (err)
			return err;
	}
	if (event->is_complete) {
		if (__builtin_add_overflow(added.time_ns, event->duration_ns, &added.end_ns))
			added.end_ns = UINT64_MAX;
		if (added.end_ns > slices->last_ns)
			slices->last_ns = added.end_ns;
		track->is_unsorted = true; /* the outer of two that start together may be later */
	}
	return add_event(slices, track, &added);
}

/* ---- counters ----------------------------------------------------------------------------- */

static int find_counter(struct perfetto_slices *slices, struct perfetto_track *track)
{
	struct counter_track counter = {.name = track->name, .unit = track->unit};
	int err;

	if (track->item != TIMELINE_NONE)
		return 0;
	err = perfetto_owners_find_process(slices->tracks, track, &counter.process);
	if (err)
		return err;
	if (string_equals(timeline_get_string(slices->trace->timeline, counter.unit), "value"))
		counter.unit = STRING_EMPTY; /* as our writer has it */
	return timeline_add_counter_track(slices->trace->timeline, &counter, &track->item);
}

static int add_value(struct perfetto_slices *slices, const struct perfetto_packet *packet,
		     const struct perfetto_track_event *event, struct perfetto_track *track)
{
	struct counter_value value = {.time_ns = packet->time_ns, .type = VALUE_I64};
	int err = find_counter(slices, track);

	if (err)
		return err;
	value.track = track->item;
	/* Unsigned, since a hostile value may overflow. */
	value.value.i64 = (int64_t)((uint64_t)event->value * (uint64_t)track->multiplier);
	/* Such a counter's values are changes: they are summed up in file order. */
	if (track->is_incremental) {
		track->sum = (int64_t)((uint64_t)track->sum + (uint64_t)value.value.i64);
		value.value.i64 = track->sum;
	}
	if (event->is_floating) {
		value.type = VALUE_DOUBLE;
		value.value.number = event->floating_value * (double)track->multiplier;
		if (!__builtin_isfinite(value.value.number))
			return 0;
	}
	return timeline_add_counter_value(slices->trace->timeline, &value, NULL);
}

static int read_counter(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			const struct perfetto_track_event *event, struct perfetto_track *track)
{
	if (!event->has_value)
		return 0;
	switch ((enum perfetto_role)track->role) {
	case PERFETTO_TRACK:
	case PERFETTO_REGION:
	case PERFETTO_ZONES:
	case PERFETTO_STACK_IN_USE:
	case PERFETTO_WAITS:
		slices->trace->import->counts.unknown_events++;
		return 0;
	case PERFETTO_COUNTER:
		return add_value(slices, packet, event, track);
	case PERFETTO_FILL:
		return perfetto_slices_add_fill(slices, packet, (uint64_t)event->value, track);
	case PERFETTO_NUM_STACKS:
	case PERFETTO_SIZE_STACKS:
		return perfetto_slices_add_in_use(slices, packet, (uint64_t)event->value, track);
	}
	return 0;
}

/* An instant event with a call stack is a sample. */
static int add_instant(struct perfetto_slices *slices, const struct perfetto_packet *packet,
		       const struct perfetto_track_event *event)
{
	struct perfetto_track *track = perfetto_track_table_find(slices->tracks, event->track);
	uint32_t thread;
	uint32_t stack;
	int err;

	if (!track) {
		slices->num_skipped++;
		return 0;
	}
	err = perfetto_owners_find_thread(slices->tracks, track, &thread);
	if (err)
		return err;
	stack = perfetto_samples_find_stack(slices->samples, packet->sequence, event->callstack);
	if (event->named_stack.size) {
		err = perfetto_code_read_named_stack(slices->code, event->named_stack, &stack);
		if (err)
			return err;
	}
	return perfetto_samples_add_event(slices->samples, event->name, thread, stack,
					  packet->time_ns);
}

static bool find_task_event_kind(const struct perfetto_slices *slices, uint32_t name,
				 enum task_event_kind *ret)
{
	for (enum task_event_kind kind = TASK_FORK; kind <= TASK_RENAME; kind++)
		if (string_equals(timeline_get_string(slices->trace->timeline, name),
				  perfetto_get_task_event_name(kind))) {
			*ret = kind;
			return true;
		}
	return false;
}

/* The values of our annotations, by type; their meaning follows from it. */
static void read_task_annotation(const struct perfetto_packet *packet, struct bytes message,
				 struct task_event *task)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (field.type != PROTOBUF_VARINT)
			continue;
		if (field.number == 3)
			task->child_pid = (uint32_t)field.value;
		else if (field.number == 17)
			task->name = perfetto_find_string(packet, PERFETTO_INTERNED_STRING_VALUE,
							  field.value);
	}
}

/* Whether an instant is one of our task events. If so, it is taken. */
static int take_task_event(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			   struct bytes message, const struct perfetto_track_event *event,
			   bool *ret_is_one)
{
	struct perfetto_track *track = perfetto_track_table_find(slices->tracks, event->track);
	const struct timeline *timeline = slices->trace->timeline;
	struct task_event task = {.time_ns = packet->time_ns};
	enum task_event_kind kind;
	struct protobuf_field field;
	int err;

	*ret_is_one = false;
	if (!track || track->thread == PERFETTO_NONE ||
	    !find_task_event_kind(slices, event->name, &kind))
		return 0;
	while (protobuf_next(&message, &field)) {
		if (field.number == 3)
			*ret_is_one |= string_equals(
				timeline_get_string(timeline,
						    perfetto_find_string(packet,
									 PERFETTO_INTERNED_CATEGORY,
									 read_first(&field))),
				PERFETTO_TASK_CATEGORY);
		else if (field.number == 4 && field.type == PROTOBUF_BYTES)
			read_task_annotation(packet, field.body, &task);
	}
	if (!*ret_is_one ||
	    !perfetto_has_room(slices->trace, timeline_count_task_event(timeline), 8))
		return 0;
	task.kind = (uint8_t)kind;
	err = perfetto_owners_find_thread(slices->tracks, track, &task.thread);
	return err ? err : timeline_add_task_event(slices->trace->timeline, &task, NULL);
}

int perfetto_slices_read_event(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			       struct bytes message)
{
	struct perfetto_track_event event = {.track = packet->sequence->default_track};
	struct perfetto_track *track;
	struct bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	while (protobuf_next(&rest, &field)) {
		err = read_event_field(slices, packet, &field, &event);
		if (err)
			return err;
	}
	track = perfetto_track_table_find(slices->tracks, event.track);
	if (track && track->role == PERFETTO_WAITS)
		return perfetto_slices_read_wait(slices, packet, message, &event, track);
	if (event.type == EVENT_INSTANT) {
		bool is_wakeup;

		err = perfetto_slices_take_wakeup(slices, packet, message, &event, track,
						  &is_wakeup);
		if (err || is_wakeup)
			return err;
	}
	if (event.callstack || event.named_stack.size) {
		if (event.type == EVENT_INSTANT)
			return add_instant(slices, packet, &event);
		slices->num_stacks++;
	} else if (event.type == EVENT_INSTANT) {
		bool is_task_event;

		err = take_task_event(slices, packet, message, &event, &is_task_event);
		if (err || is_task_event)
			return err;
	}
	if (event.type != EVENT_START && event.type != EVENT_END && event.type != EVENT_COUNTER) {
		slices->trace->import->counts
			.unknown_events++; /* instants, events of later versions */
		return 0;
	}
	if (!track || !perfetto_has_room(slices->trace, slices->events.length, 8)) {
		slices->num_skipped++;
		return 0;
	}
	if (event.type == EVENT_COUNTER)
		return read_counter(slices, packet, &event, track);
	return read_slice(slices, packet, message, &event, track);
}
