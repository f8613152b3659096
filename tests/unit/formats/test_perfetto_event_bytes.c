#include "base/attributes.h"
#include "formats/perfetto/write/event_bytes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

enum { MAX_LIST = 5 };

/* A packet with all that an event may point to. */
struct made {
	Perfetto__TracePacket packet;
	Perfetto__TrackEvent event;
	uint64_t numbers[5][MAX_LIST];
	Perfetto__DebugAnnotation annotations[MAX_LIST];
	Perfetto__DebugAnnotation inner[MAX_LIST];
	Perfetto__DebugAnnotation *annotation_pointers[MAX_LIST];
	Perfetto__DebugAnnotation *inner_pointers[MAX_LIST];
};

/* xorshift; numbers of every length. */
static uint64_t choose(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> (*state % 64);
}

static size_t choose_list(uint64_t *state, uint64_t *numbers)
{
	size_t count = (size_t)(choose(state) % (MAX_LIST + 1));

	for (size_t i = 0; i < count; i++)
		numbers[i] = choose(state);
	return count;
}

static void make_annotation(uint64_t *state, Perfetto__DebugAnnotation *annotation)
{
	static const Perfetto__DebugAnnotation__ValueCase cases[] = {
		PERFETTO__DEBUG_ANNOTATION__VALUE__NOT_SET,
		PERFETTO__DEBUG_ANNOTATION__VALUE_BOOL_VALUE,
		PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE,
		PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE,
		PERFETTO__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE,
		PERFETTO__DEBUG_ANNOTATION__VALUE_POINTER_VALUE,
		PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID,
	};

	*annotation = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	annotation->has_name_iid = choose(state) % 2 != 0;
	annotation->name_iid = annotation->has_name_iid ? choose(state) : 0;
	annotation->value_case = cases[choose(state) % ARRAY_LENGTH(cases)];
	annotation->uint_value = choose(state);
	if (annotation->value_case == PERFETTO__DEBUG_ANNOTATION__VALUE_BOOL_VALUE)
		annotation->bool_value = choose(state) % 2 != 0;
}

static void make_annotations(uint64_t *state, struct made *made)
{
	size_t count = (size_t)(choose(state) % MAX_LIST);

	for (size_t i = 0; i < MAX_LIST; i++) {
		make_annotation(state, &made->annotations[i]);
		make_annotation(state, &made->inner[i]);
		made->annotation_pointers[i] = &made->annotations[i];
		made->inner_pointers[i] = &made->inner[i];
	}
	made->event.n_debug_annotations = count;
	made->event.debug_annotations = made->annotation_pointers;
	made->annotations[0].n_dict_entries = (size_t)(choose(state) % (MAX_LIST + 1));
	made->annotations[0].dict_entries = made->inner_pointers;
	/* What holds others has no value of its own. */
	made->annotations[0].value_case = PERFETTO__DEBUG_ANNOTATION__VALUE__NOT_SET;
}

static void make_event(uint64_t *state, struct made *made)
{
	Perfetto__TrackEvent *event = &made->event;

	*event = (Perfetto__TrackEvent)PERFETTO__TRACK_EVENT__INIT;
	event->has_type = choose(state) % 2 != 0;
	event->type = event->has_type ? (int32_t)(choose(state) % 5) : 0;
	event->has_name_iid = event->has_track_uuid = choose(state) % 2 != 0;
	event->name_iid = event->has_name_iid ? choose(state) : 0;
	event->track_uuid = event->has_track_uuid ? choose(state) : 0;
	event->has_source_location_iid = choose(state) % 2 != 0;
	event->source_location_iid = event->has_source_location_iid ? choose(state) : 0;
	event->has_callstack_iid = choose(state) % 2 != 0;
	event->callstack_iid = event->has_callstack_iid ? choose(state) : 0;
	event->n_category_iids = choose_list(state, made->numbers[0]);
	event->category_iids = made->numbers[0];
	event->n_extra_counter_track_uuids = choose_list(state, made->numbers[1]);
	event->extra_counter_track_uuids = made->numbers[1];
	event->n_extra_counter_values = choose_list(state, made->numbers[2]);
	event->extra_counter_values = (int64_t *)made->numbers[2];
	event->n_flow_ids = choose_list(state, made->numbers[3]);
	event->flow_ids = made->numbers[3];
	event->n_terminating_flow_ids = choose_list(state, made->numbers[4]);
	event->terminating_flow_ids = made->numbers[4];
	if (choose(state) % 2) {
		event->counter_value_field_case =
			choose(state) % 2
				? PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_COUNTER_VALUE
				: PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_DOUBLE_COUNTER_VALUE;
		event->counter_value = (int64_t)choose(state);
	}
	make_annotations(state, made);
}

static void make_packet(uint64_t *state, struct made *made)
{
	Perfetto__TracePacket *packet = &made->packet;

	*packet = (Perfetto__TracePacket)PERFETTO__TRACE_PACKET__INIT;
	packet->has_timestamp = choose(state) % 2 != 0;
	packet->timestamp = packet->has_timestamp ? choose(state) : 0;
	packet->has_timestamp_clock_id = choose(state) % 2 != 0;
	packet->timestamp_clock_id = packet->has_timestamp_clock_id ? 6 : 0;
	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = (uint32_t)choose(state);
	packet->has_sequence_flags = 1;
	packet->sequence_flags = (uint32_t)(choose(state) % 4);
	packet->data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
	packet->track_event = &made->event;
	make_event(state, made);
}

/* What protobuf-c writes for the packet in a trace, and what perfetto_append_event() appends for it. */
static void check_bytes(Perfetto__TracePacket *packet, const struct text *interned)
{
	struct text text = {0};
	uint8_t packed[4096];
	Perfetto__TracePacket *packets[] = {packet};
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	size_t size;

	trace.n_packet = 1;
	trace.packet = packets;
	size = perfetto__trace__get_packed_size(&trace);
	assert_true(size <= sizeof(packed));
	perfetto__trace__pack(&trace, packed);
	assert_int_equal(perfetto_append_event(&text, packet, interned), 0);
	assert_int_equal(text.length, size);
	assert_memory_equal(text.data, packed, size);
	text_release(&text);
}

static void events_are_the_bytes_that_protobuf_c_writes(void **state _unused_)
{
	uint64_t random = 88172645463325252ull;
	struct made made;

	for (int i = 0; i < 20000; i++) {
		make_packet(&random, &made);
		check_bytes(&made.packet, NULL);
	}
}

static void interned_data_are_between_the_event_and_its_flags(void **state _unused_)
{
	char name[] = "a name";
	Perfetto__EventName event_name = PERFETTO__EVENT_NAME__INIT;
	Perfetto__EventName *names[40];
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	uint8_t packed[1024];
	struct text interned = {0};
	uint64_t random = 1;
	struct made made;

	event_name.has_iid = 1;
	event_name.iid = 300;
	event_name.name = name;
	for (size_t i = 0; i < 40; i++)
		names[i] = &event_name;
	data.event_names = names;
	/* Their size takes one byte, then two. */
	for (data.n_event_names = 1; data.n_event_names <= 40; data.n_event_names++) {
		size_t size = perfetto__interned_data__pack(&data, packed);

		text_truncate(&interned, 0);
		text_append(&interned, packed, size);
		make_packet(&random, &made);
		made.packet.interned_data = &data;
		check_bytes(&made.packet, &interned);
	}
	text_release(&interned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_the_bytes_that_protobuf_c_writes),
		cmocka_unit_test(interned_data_are_between_the_event_and_its_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
