/*
 * Only fields that our events have, in order of their numbers, as protobuf-c writes them. A length
 * precedes the message itself: so inner messages are measured first, or written to the side.
 *
 * Source: Protocol Buffers, "Encoding".
 */
#include "formats/perfetto/write/event_bytes.h"

#include <errno.h>

#include "base/array.h"
#include "formats/perfetto/write/stream.h"
#include "formats/protobuf_writer.h"

/* Limits for all single fields of a packet, tags included, and for each number of a list. */
#define SINGLE_BYTES_MAX 176
#define NUMBER_BYTES_MAX 12
/* Limit for the packet's own fields before the event, and for those behind it. */
#define EDGE_BYTES_MAX 48

static uint8_t *put_tag(uint8_t *end, unsigned field, unsigned type)
{
	return protobuf_encode(end, field << 3 | type);
}

static uint8_t *put_number(uint8_t *end, unsigned field, uint64_t value)
{
	return protobuf_encode(put_tag(end, field, 0), value);
}

static uint8_t *put_fixed64(uint8_t *end, unsigned field, const void *value)
{
	end = put_tag(end, field, 1);
	memcpy(end, value, sizeof(uint64_t));
	return end + sizeof(uint64_t);
}

/* The size of a message, which follows. */
static uint8_t *put_size(uint8_t *end, unsigned field, size_t size)
{
	return protobuf_encode(put_tag(end, field, 2), size);
}

/* ---- annotations -------------------------------------------------------------------------- */

static uint8_t *put_value(uint8_t *end, const Perfetto__DebugAnnotation *annotation)
{
	/* Not as the enum: it ends in a value whose name differs between versions of protobuf-c. */
	switch ((int)annotation->value_case) {
	case PERFETTO__DEBUG_ANNOTATION__VALUE_BOOL_VALUE:
		return put_number(end, 2, annotation->bool_value != 0);
	case PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE:
		return put_number(end, 3, annotation->uint_value);
	case PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE:
		return put_number(end, 4, (uint64_t)annotation->int_value);
	case PERFETTO__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE:
		return put_fixed64(end, 5, &annotation->double_value);
	case PERFETTO__DEBUG_ANNOTATION__VALUE_POINTER_VALUE:
		return put_number(end, 7, annotation->pointer_value);
	case PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID:
		return put_number(end, 17, annotation->string_value_iid);
	}
	return end;
}

#define LEAF_BYTES_MAX 32

/* Write an annotation without inner ones; returns its size. */
static size_t put_leaf(uint8_t *start, const Perfetto__DebugAnnotation *annotation)
{
	uint8_t *end = start;

	if (annotation->has_name_iid)
		end = put_number(end, 1, annotation->name_iid);
	return (size_t)(put_value(end, annotation) - start);
}

static uint8_t *put_leaf_field(uint8_t *end, unsigned field,
			       const Perfetto__DebugAnnotation *annotation)
{
	uint8_t bytes[LEAF_BYTES_MAX];
	size_t size = put_leaf(bytes, annotation);

	end = put_size(end, field, size);
	memcpy(end, bytes, size);
	return end + size;
}

static uint8_t *put_annotation(uint8_t *end, const Perfetto__DebugAnnotation *annotation)
{
	uint8_t bytes[LEAF_BYTES_MAX];
	size_t head_size = put_leaf(bytes, annotation);
	size_t size = head_size;

	for (size_t i = 0; i < annotation->n_dict_entries; i++) {
		uint8_t inner[LEAF_BYTES_MAX];

		size += 2 + put_leaf(inner, annotation->dict_entries[i]);
	}
	end = put_size(end, 4, size);
	memcpy(end, bytes, head_size);
	end += head_size;
	for (size_t i = 0; i < annotation->n_dict_entries; i++)
		end = put_leaf_field(end, 11, annotation->dict_entries[i]);
	return end;
}

/* ---- event and packet --------------------------------------------------------------------- */

static uint8_t *put_numbers(uint8_t *end, unsigned field, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		end = put_number(end, field, values[i]);
	return end;
}

static uint8_t *put_flows(uint8_t *end, unsigned field, const uint64_t *flows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		end = put_fixed64(end, field, &flows[i]);
	return end;
}

static uint8_t *put_event(uint8_t *end, const Perfetto__TrackEvent *event)
{
	end = put_numbers(end, 3, event->category_iids, event->n_category_iids);
	for (size_t i = 0; i < event->n_debug_annotations; i++)
		end = put_annotation(end, event->debug_annotations[i]);
	if (event->has_type)
		end = put_number(end, 9, (uint64_t)event->type);
	if (event->has_name_iid)
		end = put_number(end, 10, event->name_iid);
	if (event->has_track_uuid)
		end = put_number(end, 11, event->track_uuid);
	for (size_t i = 0; i < event->n_extra_counter_values; i++)
		end = put_number(end, 12, (uint64_t)event->extra_counter_values[i]);
	if (event->counter_value_field_case ==
	    PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_COUNTER_VALUE)
		end = put_number(end, 30, (uint64_t)event->counter_value);
	end = put_numbers(end, 31, event->extra_counter_track_uuids,
			  event->n_extra_counter_track_uuids);
	if (event->has_source_location_iid)
		end = put_number(end, 34, event->source_location_iid);
	if (event->counter_value_field_case ==
	    PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_DOUBLE_COUNTER_VALUE)
		end = put_fixed64(end, 44, &event->double_counter_value);
	end = put_flows(end, 47, event->flow_ids, event->n_flow_ids);
	end = put_flows(end, 48, event->terminating_flow_ids, event->n_terminating_flow_ids);
	return event->has_callstack_iid ? put_number(end, 56, event->callstack_iid) : end;
}

/* No more than an event takes. */
static size_t get_room(const Perfetto__TrackEvent *event)
{
	size_t num_numbers = event->n_category_iids + event->n_extra_counter_values +
			     event->n_extra_counter_track_uuids + event->n_flow_ids +
			     event->n_terminating_flow_ids;
	size_t num_annotations = event->n_debug_annotations;

	for (size_t i = 0; i < event->n_debug_annotations; i++)
		num_annotations += event->debug_annotations[i]->n_dict_entries;
	return SINGLE_BYTES_MAX + num_numbers * NUMBER_BYTES_MAX +
	       num_annotations * (LEAF_BYTES_MAX + PROTOBUF_NUMBER_BYTES);
}

static uint8_t *put_head(uint8_t *end, const Perfetto__TracePacket *packet, size_t event_size)
{
	if (packet->has_timestamp)
		end = put_number(end, PERFETTO_PACKET_TIME, packet->timestamp);
	if (packet->has_trusted_packet_sequence_id)
		end = put_number(end, PERFETTO_PACKET_SEQUENCE, packet->trusted_packet_sequence_id);
	return put_size(end, PERFETTO_PACKET_EVENT, event_size);
}

static uint8_t *put_tail(uint8_t *end, const Perfetto__TracePacket *packet)
{
	if (packet->has_sequence_flags)
		end = put_number(end, PERFETTO_PACKET_FLAGS, packet->sequence_flags);
	if (packet->has_timestamp_clock_id)
		end = put_number(end, PERFETTO_PACKET_CLOCK, packet->timestamp_clock_id);
	return end;
}

/* The event is written behind the space for the fields before it, and moved there. */
int perfetto_append_event(struct text *text, const Perfetto__TracePacket *packet,
			  const struct text *interned)
{
	const Perfetto__TrackEvent *event = packet->track_event;
	size_t interned_size = interned ? interned->length : 0;
	uint8_t head[EDGE_BYTES_MAX];
	uint8_t tail[2 * EDGE_BYTES_MAX];
	uint8_t *tail_end = tail;
	size_t head_size;
	size_t tag_size = 0; /* of the interned data */
	size_t tail_size;
	size_t event_size;
	uint8_t *body;
	uint8_t *end;

	if (array_reserve_bytes(&text->data, &text->capacity,
				text->length + 4 * EDGE_BYTES_MAX + get_room(event) + interned_size,
				1))
		return -ENOMEM;
	end = (uint8_t *)text->data + text->length;
	body = end + 2 * EDGE_BYTES_MAX;
	event_size = (size_t)(put_event(body, event) - body);
	head_size = (size_t)(put_head(head, packet, event_size) - head);
	if (interned)
		tail_end = put_size(tail_end, PERFETTO_PACKET_INTERNED, interned_size);
	tag_size = (size_t)(tail_end - tail);
	tail_size = (size_t)(put_tail(tail_end, packet) - tail_end);
	end = put_size(end, 1, head_size + event_size + tag_size + interned_size + tail_size);
	memcpy(end, head, head_size);
	memmove(end + head_size, body, event_size);
	end += head_size + event_size;
	memcpy(end, tail, tag_size);
	end += tag_size;
	if (interned)
		memcpy(end, interned->data, interned_size);
	end += interned_size;
	memcpy(end, tail_end, tail_size);
	text->length = (size_t)(end + tail_size - (uint8_t *)text->data);
	return 0;
}
