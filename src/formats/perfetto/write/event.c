/*
 * An event refers to names by numbers of its sequence. A name is emitted with the first packet that
 * uses it (interned_data). So names are collected while the event is made, and forgotten when it is
 * added.
 *
 * The interned items of a sequence are its state, which a reader must keep until the writer clears
 * it. The state is cleared after every PERFETTO_STATE_BYTES, so that no reader has to hold the
 * names of a whole recording. Names are emitted again when they are used again.
 *
 * The structs of protobuf-c only have pointers: the writer owns the data behind them, until the
 * next event starts.
 */
#include "formats/perfetto/write/event.h"

#include <errno.h>

int perfetto_event_writer_init(struct perfetto_event_writer *writer,
			       const struct timeline *timeline, struct perfetto_stream *stream)
{
	*writer = (struct perfetto_event_writer){
		.timeline = timeline, .stream = stream, .names = perfetto_names_new(timeline)};
	return writer->names ? 0 : -ENOMEM;
}

void perfetto_event_writer_release(struct perfetto_event_writer *writer)
{
	perfetto_names_free(writer->names);
	text_release(&writer->text);
	array_release(&writer->categories);
	array_release(&writer->flows);
	array_release(&writer->terminating_flows);
	array_release(&writer->annotations);
	array_release(&writer->annotation_pointers);
	writer->names = NULL;
}

/* ---- packets ------------------------------------------------------------------------------ */

/* Start the sequence, or start it again: everything emitted before is forgotten. */
static int clear_state(struct perfetto_event_writer *writer, bool is_first)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__PerfSampleDefaults samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__PerfTimebase timebase = PERFETTO__PERF_TIMEBASE__INIT;
	char unit[] = "nanoseconds";
	uint64_t before;
	int err;

	perfetto_names_clear(writer->names);
	if (writer->stacks)
		perfetto_stacks_clear(writer->stacks);
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = writer->sequence;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = PERFETTO_STATE_CLEARED;
	packet.has_first_packet_on_sequence = is_first;
	packet.first_packet_on_sequence = is_first;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = PERFETTO_CLOCK_OF_SEQUENCE;
	/* It has no samples, but stacks as those of our samples: they are known by the unit. */
	if (writer->sequence == SEQUENCE_WAITS) {
		timebase.unit = unit;
		samples.timebase = &timebase;
		defaults.perf_sample_defaults = &samples;
	}
	packet.trace_packet_defaults = &defaults;
	before = perfetto_stream_get_size(writer->stream);
	err = perfetto_stream_add(writer->stream, &packet);
	writer->state_bytes = perfetto_stream_get_size(writer->stream) - before;
	return err;
}

int perfetto_event_writer_start_sequence(struct perfetto_event_writer *writer,
					 enum perfetto_sequence_id sequence)
{
	writer->sequence = sequence;
	return clear_state(writer, true);
}

/* The lists keep their memory from event to event. */
Perfetto__TrackEvent *perfetto_event_writer_start(struct perfetto_event_writer *writer,
						  enum perfetto_event_type type,
						  uint64_t track_uuid)
{
	Perfetto__TrackEvent *event = &writer->event;

	*event = (Perfetto__TrackEvent)PERFETTO__TRACK_EVENT__INIT;
	event->has_type = 1;
	event->type = type;
	event->has_track_uuid = 1;
	event->track_uuid = track_uuid;
	writer->categories.length = 0;
	writer->flows.length = 0;
	writer->terminating_flows.length = 0;
	writer->annotations.length = 0;
	return event;
}

int perfetto_event_writer_add(struct perfetto_event_writer *writer, uint64_t time_ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackEvent *event = &writer->event;
	uint64_t before = perfetto_stream_get_size(writer->stream);
	const struct text *interned;
	int err = perfetto_names_get_new(writer->names, &interned);

	if (err)
		return err;
	event->n_category_iids = writer->categories.length;
	event->category_iids = writer->categories.items;
	event->n_flow_ids = writer->flows.length;
	event->flow_ids = writer->flows.items;
	event->n_terminating_flow_ids = writer->terminating_flows.length;
	event->terminating_flow_ids = writer->terminating_flows.items;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = writer->sequence;
	perfetto_stream_set_time(writer->stream, &packet, time_ns);
	packet.has_sequence_flags = 1;
	packet.sequence_flags = PERFETTO_STATE_NEEDED;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
	packet.track_event = event;
	err = perfetto_stream_add_event(writer->stream, &packet, interned);
	writer->state_bytes += perfetto_stream_get_size(writer->stream) - before;
	perfetto_names_flush(writer->names);
	if (err)
		return err;
	return writer->state_bytes < PERFETTO_STATE_BYTES ? 0 : clear_state(writer, false);
}

/* ---- contents of an event ----------------------------------------------------------------- */

static int use_string(struct perfetto_event_writer *writer, enum perfetto_name_kind kind,
		      const struct perfetto_event_string *string, uint64_t *ret)
{
	return string->data ? perfetto_names_use_bytes(writer->names, kind, string->data,
						       string->length, ret)
			    : perfetto_names_use(writer->names, kind, string->id, ret);
}

int perfetto_event_writer_set_name(struct perfetto_event_writer *writer,
				   const struct perfetto_event_string *name)
{
	writer->event.has_name_iid = 1;
	return use_string(writer, PERFETTO_EVENT_NAME, name, &writer->event.name_iid);
}

int perfetto_event_writer_set_text(struct perfetto_event_writer *writer, const char *name)
{
	struct perfetto_event_string string = {.data = name, .length = strlen(name)};

	return perfetto_event_writer_set_name(writer, &string);
}

static int add_number(void *items, size_t *length, size_t *capacity, uint64_t number)
{
	uint64_t *added = array_insert_bytes(items, length, capacity, *length, sizeof(number));

	if (!added)
		return -ENOMEM;
	*added = number;
	return 0;
}

#define ADD_NUMBER(list, number) \
	add_number(&(list).items, &(list).length, &(list).capacity, (number))

int perfetto_event_writer_add_category(struct perfetto_event_writer *writer,
				       const struct perfetto_event_string *category)
{
	uint64_t number;
	int err = use_string(writer, PERFETTO_CATEGORY, category, &number);

	if (err)
		return err;
	return ADD_NUMBER(writer->categories, number);
}

int perfetto_event_writer_add_flow(struct perfetto_event_writer *writer, uint64_t flow,
				   bool is_terminating)
{
	return is_terminating ? ADD_NUMBER(writer->terminating_flows, flow)
			      : ADD_NUMBER(writer->flows, flow);
}

/* Emitted at once: the state may be cleared after any event. */
int perfetto_event_writer_set_stack(struct perfetto_event_writer *writer, uint32_t stack)
{
	uint64_t before = perfetto_stream_get_size(writer->stream);
	int err = perfetto_stacks_use(writer->stacks, stack);

	if (err || stack == STACK_EMPTY)
		return err;
	err = perfetto_stacks_emit(writer->stacks, writer->sequence);
	writer->state_bytes += perfetto_stream_get_size(writer->stream) - before;
	writer->event.has_callstack_iid = 1;
	writer->event.callstack_iid = perfetto_stacks_get_number(writer->stacks, stack);
	return err;
}

void perfetto_event_writer_set_counter(struct perfetto_event_writer *writer, uint64_t track_uuid,
				       uint64_t value)
{
	writer->counter_uuid = track_uuid;
	writer->counter_value = (int64_t)value;
	writer->event.n_extra_counter_track_uuids = 1;
	writer->event.extra_counter_track_uuids = &writer->counter_uuid;
	writer->event.n_extra_counter_values = 1;
	writer->event.extra_counter_values = &writer->counter_value;
}

/* Numbers stay numbers: Perfetto's queries can compare and sum them. */
static int set_value(struct perfetto_event_writer *writer, Perfetto__DebugAnnotation *annotation,
		     const struct zone_attribute *attribute,
		     const struct perfetto_event_string *string)
{
	switch ((enum value_type)attribute->type) {
	case VALUE_STRING:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID;
		return use_string(writer, PERFETTO_STRING_VALUE, string,
				  &annotation->string_value_iid);
	case VALUE_BOOL:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_BOOL_VALUE;
		annotation->bool_value = attribute->value.boolean;
		break;
	case VALUE_I64:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE;
		annotation->int_value = attribute->value.i64;
		break;
	case VALUE_U64:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
		annotation->uint_value = attribute->value.u64;
		break;
	case VALUE_DOUBLE:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE;
		annotation->double_value = attribute->value.number;
		break;
	}
	return 0;
}

int perfetto_event_writer_add_parameter(struct perfetto_event_writer *writer,
					const struct zone_attribute *parameter,
					const struct perfetto_event_string *string)
{
	Perfetto__DebugAnnotation *annotation = array_add(&writer->annotations);
	int err;

	if (!annotation)
		return -ENOMEM;
	*annotation = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	annotation->has_name_iid = 1;
	err = perfetto_names_use(writer->names, PERFETTO_ANNOTATION_NAME, parameter->name,
				 &annotation->name_iid);
	if (err)
		return err;
	return set_value(writer, annotation, parameter, string);
}

static int use_text(struct perfetto_event_writer *writer, enum perfetto_name_kind kind,
		    const char *text, uint64_t *ret)
{
	return perfetto_names_use_bytes(writer->names, kind, text, strlen(text), ret);
}

int perfetto_event_writer_add_annotation(struct perfetto_event_writer *writer, const char *name,
					 uint64_t value, bool is_pointer)
{
	Perfetto__DebugAnnotation *annotation = array_add(&writer->annotations);

	if (!annotation)
		return -ENOMEM;
	*annotation = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	annotation->has_name_iid = 1;
	annotation->value_case = is_pointer ? PERFETTO__DEBUG_ANNOTATION__VALUE_POINTER_VALUE
					    : PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
	if (is_pointer)
		annotation->pointer_value = value;
	else
		annotation->uint_value = value;
	return use_text(writer, PERFETTO_ANNOTATION_NAME, name, &annotation->name_iid);
}

int perfetto_event_writer_add_string(struct perfetto_event_writer *writer, const char *name,
				     const struct perfetto_event_string *string)
{
	Perfetto__DebugAnnotation *annotation = array_add(&writer->annotations);
	int err;

	if (!annotation)
		return -ENOMEM;
	*annotation = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	annotation->has_name_iid = 1;
	annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID;
	err = use_string(writer, PERFETTO_STRING_VALUE, string, &annotation->string_value_iid);
	return err ? err : use_text(writer, PERFETTO_ANNOTATION_NAME, name, &annotation->name_iid);
}

/*
 * From here on the annotations do not move. protobuf-c wants an array of pointers; one to each
 * while the array of annotations grows would be to memory that has moved.
 */
static int point_to_annotations(struct perfetto_event_writer *writer)
{
	size_t count = writer->annotations.length;

	if (array_reserve(&writer->annotation_pointers, count))
		return -ENOMEM;
	writer->annotation_pointers.length = count;
	for (size_t i = 0; i < count; i++)
		writer->annotation_pointers.items[i] = &writer->annotations.items[i];
	return 0;
}

int perfetto_event_writer_close_annotations(struct perfetto_event_writer *writer)
{
	int err = point_to_annotations(writer);

	writer->event.n_debug_annotations = writer->annotations.length;
	writer->event.debug_annotations = writer->annotation_pointers.items;
	return err;
}

/* Parameters are held by one annotation, so that ours and theirs do not mix. */
int perfetto_event_writer_close_parameters(struct perfetto_event_writer *writer)
{
	Perfetto__DebugAnnotation *whole = &writer->parameters;
	int err = point_to_annotations(writer);

	if (err || !writer->annotations.length)
		return err;
	*whole = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	whole->has_name_iid = 1;
	whole->n_dict_entries = writer->annotations.length;
	whole->dict_entries = writer->annotation_pointers.items;
	writer->parameters_pointer = whole;
	writer->event.n_debug_annotations = 1;
	writer->event.debug_annotations = &writer->parameters_pointer;
	return use_text(writer, PERFETTO_ANNOTATION_NAME, "Parameters", &whole->name_iid);
}

/* ---- counters ----------------------------------------------------------------------------- */

int perfetto_event_writer_add_counter(struct perfetto_event_writer *writer, uint64_t track_uuid,
				      uint64_t time_ns, int64_t value)
{
	Perfetto__TrackEvent *event =
		perfetto_event_writer_start(writer, EVENT_COUNTER, track_uuid);

	event->counter_value_field_case = PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_COUNTER_VALUE;
	event->counter_value = value;
	return perfetto_event_writer_add(writer, time_ns);
}

int perfetto_event_writer_add_value(struct perfetto_event_writer *writer, uint64_t track_uuid,
				    const struct counter_value *value)
{
	Perfetto__TrackEvent *event;

	if (value->type != VALUE_DOUBLE)
		return perfetto_event_writer_add_counter(writer, track_uuid, value->time_ns,
							 value->value.i64);
	event = perfetto_event_writer_start(writer, EVENT_COUNTER, track_uuid);
	event->counter_value_field_case =
		PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_DOUBLE_COUNTER_VALUE;
	event->double_counter_value = value->value.number;
	return perfetto_event_writer_add(writer, value->time_ns);
}
