/*
 * Reading a trace back as Perfetto's own reader does, and refusing what that one would silently get
 * wrong: see check_trace().
 */
#ifndef TRACE_CHECKER_H
#define TRACE_CHECKER_H

#include <perfetto.pb-c.h>

#include "base/utf8.h"
#include "profile_builder.h"

#define MAX_SEQUENCES 300
#define STATE_CLEARED 1
#define STATE_NEEDED  2

enum {
	CATEGORY,
	EVENT,
	ANNOTATION,
	VALUE,
	SOURCE,
	FUNCTION,
	FRAME,
	STACK,
	BUILD,
	PATH,
	FILE_PATH,
	MAPPING,
	NUM_KINDS
};

struct numbers {
	uint64_t *items;
	size_t length;
	size_t capacity;
};

struct slice_event {
	uint64_t track;
	uint64_t time_ns;
	size_t order;
	bool is_start;
};

struct checker {
	Perfetto__Trace *trace;
	struct numbers known[MAX_SEQUENCES][NUM_KINDS];
	bool is_cleared[MAX_SEQUENCES];
	bool has_clock[MAX_SEQUENCES];
	uint32_t default_clock[MAX_SEQUENCES];
	uint64_t clock_ns[MAX_SEQUENCES]; /* what the sequence's own clock shows */
	uint64_t last_snapshot_ns;
	struct numbers tracks;
	struct numbers counters;
	struct slice_event *events;
	size_t num_events;
	bool has_system;
};

static inline void remember(struct numbers *numbers, uint64_t number)
{
	assert_true(number > 0);
	if (numbers->length == numbers->capacity) {
		numbers->capacity = numbers->capacity * 2 + 16;
		numbers->items = realloc(numbers->items, numbers->capacity * sizeof(uint64_t));
		assert_non_null(numbers->items);
	}
	numbers->items[numbers->length++] = number;
}

static inline bool is_known(const struct numbers *numbers, uint64_t number)
{
	for (size_t i = numbers->length; i-- > 0;)
		if (numbers->items[i] == number)
			return true;
	return false;
}

static inline void assert_text(const char *text)
{
	struct text fitted = {0};

	assert_non_null(text);
	text_append_string(&fitted, "");
	utf8_append(&fitted, text, strlen(text));
	assert_string_equal(fitted.data, text);
	text_release(&fitted);
}

#define REMEMBER(known, kind, data, list)                \
	for (size_t i_ = 0; i_ < (data)->n_##list; i_++) \
	remember(&(known)[kind], (data)->list[i_]->iid)

/* Numbers are never 0, and what is interned refers only to what is interned. */
static inline void read_interned(struct checker *checker, uint32_t sequence,
				 const Perfetto__InternedData *data)
{
	struct numbers *known = checker->known[sequence];

	REMEMBER(known, CATEGORY, data, event_categories);
	REMEMBER(known, EVENT, data, event_names);
	REMEMBER(known, ANNOTATION, data, debug_annotation_names);
	REMEMBER(known, VALUE, data, debug_annotation_string_values);
	REMEMBER(known, SOURCE, data, source_locations);
	REMEMBER(known, FUNCTION, data, function_names);
	REMEMBER(known, BUILD, data, build_ids);
	REMEMBER(known, PATH, data, mapping_paths);
	REMEMBER(known, FILE_PATH, data, source_paths);
	REMEMBER(known, MAPPING, data, mappings);
	REMEMBER(known, FRAME, data, frames);
	REMEMBER(known, STACK, data, callstacks);
	for (size_t i = 0; i < data->n_event_names; i++)
		assert_text(data->event_names[i]->name);
	for (size_t i = 0; i < data->n_mappings; i++) {
		assert_true(is_known(&known[PATH], data->mappings[i]->path_string_ids[0]));
		if (data->mappings[i]->has_build_id)
			assert_true(is_known(&known[BUILD], data->mappings[i]->build_id));
	}
	for (size_t i = 0; i < data->n_frames; i++) {
		assert_true(is_known(&known[FUNCTION], data->frames[i]->function_name_id));
		assert_true(is_known(&known[MAPPING], data->frames[i]->mapping_id));
		if (data->frames[i]->has_source_path_iid)
			assert_true(is_known(&known[FILE_PATH], data->frames[i]->source_path_iid));
	}
	for (size_t i = 0; i < data->n_callstacks; i++)
		for (size_t k = 0; k < data->callstacks[i]->n_frame_ids; k++)
			assert_true(is_known(&known[FRAME], data->callstacks[i]->frame_ids[k]));
}

static inline void check_annotation(const struct numbers *known,
				    const Perfetto__DebugAnnotation *annotation)
{
	assert_true(is_known(&known[ANNOTATION], annotation->name_iid));
	if (annotation->value_case == PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID)
		assert_true(is_known(&known[VALUE], annotation->string_value_iid));
	for (size_t i = 0; i < annotation->n_dict_entries; i++)
		check_annotation(known, annotation->dict_entries[i]);
}

static inline void read_event(struct checker *checker, const Perfetto__TracePacket *packet,
			      size_t order)
{
	const Perfetto__TrackEvent *event = packet->track_event;
	const struct numbers *known = checker->known[packet->trusted_packet_sequence_id];

	assert_true(packet->has_timestamp);
	assert_true(is_known(&checker->tracks, event->track_uuid));
	assert_int_equal(event->n_extra_counter_values, event->n_extra_counter_track_uuids);
	for (size_t i = 0; i < event->n_extra_counter_track_uuids; i++)
		assert_true(is_known(&checker->counters, event->extra_counter_track_uuids[i]));
	for (size_t i = 0; i < event->n_category_iids; i++)
		assert_true(is_known(&known[CATEGORY], event->category_iids[i]));
	for (size_t i = 0; i < event->n_debug_annotations; i++)
		check_annotation(known, event->debug_annotations[i]);
	if (event->has_source_location_iid)
		assert_true(is_known(&known[SOURCE], event->source_location_iid));
	if (event->type == 4) {
		assert_true(is_known(&checker->counters, event->track_uuid));
		assert_int_not_equal(event->counter_value_field_case, 0);
		return;
	}
	if (event->has_callstack_iid)
		assert_true(is_known(&known[STACK], event->callstack_iid));
	if (event->type == 1 || event->type == 3)
		assert_true(is_known(&known[EVENT], event->name_iid));
	if (event->type == 3) /* an instant */
		return;
	checker->events[checker->num_events++] =
		(struct slice_event){event->track_uuid, packet->timestamp, order, event->type == 1};
}

/* Siblings of one name stay apart, and a thread is not described where events are. */
static inline void read_descriptor(struct checker *checker, const Perfetto__TracePacket *packet)
{
	const Perfetto__TrackDescriptor *descriptor = packet->track_descriptor;

	assert_false(is_known(&checker->tracks, descriptor->uuid));
	remember(&checker->tracks, descriptor->uuid);
	if (descriptor->counter)
		remember(&checker->counters, descriptor->uuid);
	if (descriptor->process || descriptor->thread) {
		assert_int_equal(packet->trusted_packet_sequence_id, 1);
		assert_text(descriptor->process ? descriptor->process->process_name
						: descriptor->thread->thread_name);
		return;
	}
	assert_true(is_known(&checker->tracks, descriptor->parent_uuid));
	assert_int_equal(descriptor->sibling_merge_behavior, 2);
	assert_text(descriptor->name);
}

static inline int compare_events(const void *left, const void *right)
{
	const struct slice_event *a = left;
	const struct slice_event *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* As a reader sorts them, by time and then as they come, starts and ends of a track pair up. */
static inline void check_nesting(struct checker *checker)
{
	int64_t depth = 0;

	qsort(checker->events, checker->num_events, sizeof(*checker->events), compare_events);
	for (size_t i = 0; i < checker->num_events; i++) {
		if (i && checker->events[i - 1].track != checker->events[i].track)
			assert_int_equal(depth, 0);
		depth += checker->events[i].is_start ? 1 : -1;
		assert_true(depth >= 0);
	}
	assert_int_equal(depth, 0);
}

/* A sequence's own clock is declared first, and the boot clock never goes back. */
static inline void read_clocks(struct checker *checker, const Perfetto__TracePacket *packet)
{
	const Perfetto__ClockSnapshot *snapshot = packet->clock_snapshot;
	uint32_t sequence = packet->trusted_packet_sequence_id;

	assert_int_equal(snapshot->clocks[0]->clock_id, 6);
	assert_true(snapshot->clocks[0]->timestamp >= checker->last_snapshot_ns);
	checker->last_snapshot_ns = snapshot->clocks[0]->timestamp;
	if (snapshot->clocks[1]->clock_id < 64)
		return;
	assert_true(snapshot->clocks[1]->is_incremental);
	assert_int_equal(snapshot->clocks[1]->timestamp, 0);
	assert_false(checker->is_cleared[sequence]);
	checker->has_clock[sequence] = true;
	checker->clock_ns[sequence] = snapshot->clocks[0]->timestamp;
}

/* The packet's time becomes one of the boot clock. */
static inline void convert_time(struct checker *checker, Perfetto__TracePacket *packet)
{
	uint32_t sequence = packet->trusted_packet_sequence_id;
	uint32_t clock = packet->has_timestamp_clock_id ? packet->timestamp_clock_id
							: checker->default_clock[sequence];

	if (!packet->has_timestamp || clock < 64)
		return;
	assert_true(checker->has_clock[sequence]);
	checker->clock_ns[sequence] += packet->timestamp;
	packet->timestamp = checker->clock_ns[sequence];
}

static inline void read_packet(struct checker *checker, Perfetto__TracePacket *packet, size_t order)
{
	uint32_t sequence = packet->trusted_packet_sequence_id;

	assert_true(sequence > 0 && sequence < MAX_SEQUENCES);
	if (packet->sequence_flags & STATE_CLEARED) {
		checker->is_cleared[sequence] = true;
		for (size_t i = 0; i < NUM_KINDS; i++)
			checker->known[sequence][i].length = 0;
		if (packet->trace_packet_defaults)
			checker->default_clock[sequence] =
				packet->trace_packet_defaults->timestamp_clock_id;
	}
	convert_time(checker, packet);
	if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT)
		read_clocks(checker, packet);
	if (packet->sequence_flags & STATE_NEEDED)
		assert_true(checker->is_cleared[sequence]);
	if (packet->interned_data ||
	    packet->data_case == PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT ||
	    packet->data_case == PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE)
		assert_true(packet->sequence_flags & STATE_NEEDED);
	if (packet->interned_data)
		read_interned(checker, sequence, packet->interned_data);
	if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR)
		read_descriptor(checker, packet);
	if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT)
		read_event(checker, packet, order);
	if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_SYSTEM_INFO)
		checker->has_system = true;
	if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS)
		assert_true(checker->has_system);
	if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE) {
		assert_true(packet->has_timestamp && packet->perf_sample->has_timebase_count);
		if (packet->perf_sample->has_callstack_iid)
			assert_true(is_known(&checker->known[sequence][STACK],
					     packet->perf_sample->callstack_iid));
	}
	assert_true(perfetto__trace_packet__get_packed_size(packet) < 1 << 20);
}

/*
 * Decode a trace and check all that a reader would not complain about. All times become those of
 * the boot clock. The caller frees it.
 */
static inline Perfetto__Trace *check_trace(const struct text *written)
{
	struct checker checker = {0};
	Perfetto__Trace *trace =
		perfetto__trace__unpack(NULL, written->length, (const uint8_t *)written->data);

	assert_non_null(trace);
	checker.events = calloc(trace->n_packet + 1, sizeof(*checker.events));
	assert_non_null(checker.events);
	for (size_t i = 0; i < trace->n_packet; i++)
		read_packet(&checker, trace->packet[i], i);
	check_nesting(&checker);
	for (size_t i = 0; i < MAX_SEQUENCES; i++)
		for (size_t k = 0; k < NUM_KINDS; k++)
			free(checker.known[i][k].items);
	free(checker.tracks.items);
	free(checker.counters.items);
	free(checker.events);
	return trace;
}

#endif
