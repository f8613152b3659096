/*
 * Only fields that our events have, in order of their numbers, as protobuf-c writes them. A length
 * precedes the message itself: so inner messages are measured first, or written to the side.
 *
 * Source: Protocol Buffers, "Encoding".
 */
#include "formats/perfetto/write/event_bytes.h"

#include <errno.h>

#include "base/array.h"

#define VARINT_BYTES_MAX 10
/* Limits for all single fields of a packet, tags included, and for each number of a list. */
#define SINGLE_BYTES_MAX 176
#define NUMBER_BYTES_MAX 12
/* Limit for the packet's own fields before the event, and for those behind it. */
#define EDGE_BYTES_MAX 48

/* Field number and wire type; those above 15 take two bytes. */
enum tag {
	TAG_VARINT = 0,
	TAG_FIXED64 = 1,
	TAG_BYTES = 2,
};

static uint8_t *put_varint(uint8_t *end, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		*end++ = (uint8_t)(value | 0x80);
	*end++ = (uint8_t)value;
	return end;
}

static uint8_t *put_tag(uint8_t *end, unsigned field, enum tag tag)
{
	return put_varint(end, field << 3 | tag);
}

static uint8_t *put_number(uint8_t *end, unsigned field, uint64_t value)
{
	return put_varint(put_tag(end, field, TAG_VARINT), value);
}

static uint8_t *put_fixed64(uint8_t *end, unsigned field, const void *value)
{
	end = put_tag(end, field, TAG_FIXED64);
	memcpy(end, value, sizeof(uint64_t));
	return end + sizeof(uint64_t);
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

	end = put_varint(put_tag(end, field, TAG_BYTES), size);
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
	end = put_varint(put_tag(end, 4, TAG_BYTES), size);
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
	       num_annotations * (LEAF_BYTES_MAX + VARINT_BYTES_MAX);
}

static uint8_t *put_head(uint8_t *end, const Perfetto__TracePacket *packet, size_t event_size)
{
	if (packet->has_timestamp)
		end = put_number(end, 8, packet->timestamp);
	if (packet->has_trusted_packet_sequence_id)
		end = put_number(end, 10, packet->trusted_packet_sequence_id);
	return put_varint(put_tag(end, 11, TAG_BYTES), event_size);
}

static uint8_t *put_tail(uint8_t *end, const Perfetto__TracePacket *packet)
{
	if (packet->has_sequence_flags)
		end = put_number(end, 13, packet->sequence_flags);
	if (packet->has_timestamp_clock_id)
		end = put_number(end, 58, packet->timestamp_clock_id);
	return end;
}

/* The event is written behind the space for the fields before it, and moved there. */
int perfetto_append_event(struct text *text, const Perfetto__TracePacket *packet)
{
	const Perfetto__TrackEvent *event = packet->track_event;
	uint8_t head[EDGE_BYTES_MAX];
	uint8_t tail[EDGE_BYTES_MAX];
	size_t head_size;
	size_t tail_size;
	size_t event_size;
	uint8_t *body;
	uint8_t *end;

	if (packet->data_case != PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT ||
	    packet->interned_data || packet->trace_packet_defaults)
		return 0;
	if (array_reserve_bytes(&text->data, &text->capacity,
				text->length + 3 * EDGE_BYTES_MAX + get_room(event), 1))
		return -ENOMEM;
	end = (uint8_t *)text->data + text->length;
	body = end + 2 * EDGE_BYTES_MAX;
	event_size = (size_t)(put_event(body, event) - body);
	head_size = (size_t)(put_head(head, packet, event_size) - head);
	tail_size = (size_t)(put_tail(tail, packet) - tail);
	end = put_varint(put_tag(end, 1, TAG_BYTES), head_size + event_size + tail_size);
	memcpy(end, head, head_size);
	memmove(end + head_size, body, event_size);
	end += head_size + event_size;
	memcpy(end, tail, tail_size);
	text->length = (size_t)(end + tail_size - (uint8_t *)text->data);
	return 1;
}
