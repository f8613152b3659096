/*
 * Events are written track kind by track kind, each on a sequence of its own, mostly in order of
 * time. Readers sort; on one track an end must come before a begin of the same moment.
 */
#include "formats/perfetto_events.h"

#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "formats/perfetto_names.h"
#include "timeline/zone_walk.h"

enum event_type { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_COUNTER = 4 };

/* Flows between occupancies: numbers that no program is likely to choose. */
#define HAND_OVER_FLOW 0x8000000000000000ull

struct writer {
	const struct timeline *timeline;
	struct perfetto_tracks *tracks;
	struct perfetto_stream *stream;
	struct perfetto_names *names;
	enum perfetto_sequence sequence;
	uint64_t state_start; /* size of the stream when the state was cleared */
	struct text text;
	/* Of the event that is being made. */
	Perfetto__TrackEvent event;
	ARRAY(uint64_t) categories;
	ARRAY(uint64_t) flows;
	ARRAY(uint64_t) terminating_flows;
	ARRAY(Perfetto__DebugAnnotation) annotations;
	ARRAY(Perfetto__DebugAnnotation *) annotation_pointers;
	uint64_t counter_uuids[2];
	int64_t counter_values[2];
};

/* ---- packets ------------------------------------------------------------------------------ */

/* Begin the sequence, or begin it anew: what was told before is forgotten. */
static int clear_state(struct writer *writer, bool is_first)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;

	perfetto_names_clear(writer->names);
	writer->state_start = perfetto_stream_get_size(writer->stream);
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = writer->sequence;
	packet.has_sequence_flags = 1;
	packet.sequence_flags = PERFETTO_STATE_CLEARED;
	packet.has_first_packet_on_sequence = is_first;
	packet.first_packet_on_sequence = is_first;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = PERFETTO_CLOCK_OF_SEQUENCE;
	packet.trace_packet_defaults = &defaults;
	return perfetto_stream_add(writer->stream, &packet);
}

static int begin_sequence(struct writer *writer, enum perfetto_sequence sequence)
{
	writer->sequence = sequence;
	return clear_state(writer, true);
}

static Perfetto__TrackEvent *new_event(struct writer *writer, enum event_type type,
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

/* Write writer->event. */
static int add_event(struct writer *writer, uint64_t time_ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackEvent *event = &writer->event;
	int err;

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
	packet.interned_data = perfetto_names_get_new(writer->names);
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
	packet.track_event = event;
	err = perfetto_stream_add(writer->stream, &packet);
	perfetto_names_flush(writer->names);
	if (!err &&
	    perfetto_stream_get_size(writer->stream) - writer->state_start >= PERFETTO_STATE_BYTES)
		err = clear_state(writer, false);
	return err;
}

/* A counter that changes with the event. */
static void set_extra_counter(struct writer *writer, uint64_t track_uuid, uint64_t value)
{
	writer->counter_uuids[0] = track_uuid;
	writer->counter_values[0] = (int64_t)value;
	writer->event.n_extra_counter_track_uuids = 1;
	writer->event.extra_counter_track_uuids = writer->counter_uuids;
	writer->event.n_extra_counter_values = 1;
	writer->event.extra_counter_values = writer->counter_values;
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

static int add_counter(struct writer *writer, uint64_t track_uuid, uint64_t time_ns, int64_t value)
{
	Perfetto__TrackEvent *event = new_event(writer, EVENT_COUNTER, track_uuid);

	event->counter_value_field_case = PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_COUNTER_VALUE;
	event->counter_value = value;
	return add_event(writer, time_ns);
}

/* ---- zones -------------------------------------------------------------------------------- */

static int set_value(struct writer *writer, Perfetto__DebugAnnotation *annotation,
		     const struct zone_attribute *attribute)
{
	switch ((enum value_type)attribute->type) {
	case VALUE_STRING:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID;
		return perfetto_names_use(writer->names, PERFETTO_STRING_VALUE,
					  attribute->value.string, &annotation->string_value_iid);
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

static int add_parameter(struct writer *writer, const struct zone_attribute *attribute)
{
	Perfetto__DebugAnnotation *annotation = array_add(&writer->annotations);
	int err;

	if (!annotation)
		return -ENOMEM;
	*annotation = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	annotation->has_name_iid = 1;
	err = perfetto_names_use(writer->names, PERFETTO_ANNOTATION_NAME, attribute->name,
				 &annotation->name_iid);
	return err ? err : set_value(writer, annotation, attribute);
}

static int add_category(struct writer *writer, uint32_t string)
{
	uint64_t category;
	int err = perfetto_names_use(writer->names, PERFETTO_CATEGORY, string, &category);

	return err ? err : ADD_NUMBER(writer->categories, category);
}

static int add_attribute(struct writer *writer, const struct zone_attribute *attribute)
{
	switch ((enum attribute_kind)attribute->kind) {
	case ATTRIBUTE_PARAMETER:
		return add_parameter(writer, attribute);
	case ATTRIBUTE_CATEGORY:
		return add_category(writer, attribute->value.string);
	case ATTRIBUTE_FLOW:
		return ADD_NUMBER(writer->flows, attribute->value.u64);
	case ATTRIBUTE_TERMINATING_FLOW:
		return ADD_NUMBER(writer->terminating_flows, attribute->value.u64);
	}
	return -EINVAL;
}

/*
 * The annotations collected so far become one, `name`, that holds them; without a name they become
 * the event's own. They must not grow any more.
 */
static int close_annotations(struct writer *writer, const char *name,
			     Perfetto__DebugAnnotation *whole, Perfetto__DebugAnnotation **pointer)
{
	size_t count = writer->annotations.length;

	if (!count)
		return 0;
	writer->annotation_pointers.length = 0;
	for (size_t i = 0; i < count; i++) {
		Perfetto__DebugAnnotation **added = array_add(&writer->annotation_pointers);

		if (!added)
			return -ENOMEM;
		*added = &writer->annotations.items[i];
	}
	if (!name) {
		writer->event.n_debug_annotations = count;
		writer->event.debug_annotations = writer->annotation_pointers.items;
		return 0;
	}
	*whole = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	whole->has_name_iid = 1;
	whole->n_dict_entries = count;
	whole->dict_entries = writer->annotation_pointers.items;
	*pointer = whole;
	writer->event.n_debug_annotations = 1;
	writer->event.debug_annotations = pointer;
	return perfetto_names_use_text(writer->names, PERFETTO_ANNOTATION_NAME, name,
				       &whole->name_iid);
}

static int begin_zone(struct writer *writer, const struct zone_step *step, uint64_t track,
		      uint64_t fill_track)
{
	const struct zone *zone = timeline_get_zone(writer->timeline, step->zone);
	Perfetto__TrackEvent *event = new_event(writer, EVENT_BEGIN, track);
	const struct zone_attribute *attribute = NULL;
	Perfetto__DebugAnnotation parameters;
	Perfetto__DebugAnnotation *pointer;
	int err = perfetto_names_use(writer->names, PERFETTO_EVENT_NAME, zone->name,
				     &event->name_iid);

	event->has_name_iid = 1;
	event->has_source_location_iid = 1;
	if (!err)
		err = perfetto_names_use_location(writer->names, zone->location,
						  &event->source_location_iid);
	while (!err &&
	       (attribute = timeline_next_attribute(writer->timeline, step->zone, attribute)))
		err = add_attribute(writer, attribute);
	if (!err)
		err = close_annotations(writer, "Parameters", &parameters, &pointer);
	set_extra_counter(writer, fill_track, step->fill_bytes);
	return err ? err : add_event(writer, step->time_ns);
}

static int write_zone_step(struct writer *writer, const struct zone_step *step)
{
	uint32_t region = timeline_get_zone(writer->timeline, step->zone)->region;
	uint64_t track;
	uint64_t fill_track;
	int err = perfetto_tracks_use_zones(writer->tracks, region, &track);

	if (!err)
		err = perfetto_tracks_use_fill(writer->tracks, region, &fill_track);
	if (err)
		return err;
	if (!step->is_end)
		return begin_zone(writer, step, track, fill_track);
	new_event(writer, EVENT_END, track);
	set_extra_counter(writer, fill_track, step->fill_bytes);
	return add_event(writer, step->time_ns);
}

static int write_zones(struct writer *writer)
{
	struct zone_walk walk;
	struct zone_step step;
	int err = zone_walk_init(&walk, writer->timeline);

	if (!err && timeline_count_zone(writer->timeline))
		err = begin_sequence(writer, SEQUENCE_EVENTS);
	while (!err && zone_walk_next(&walk, &step))
		err = write_zone_step(writer, &step);
	zone_walk_release(&walk);
	return err;
}

/* ---- occupancies -------------------------------------------------------------------------- */

static int add_annotation(struct writer *writer, const char *name, uint64_t value, bool is_pointer)
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
	return perfetto_names_use_text(writer->names, PERFETTO_ANNOTATION_NAME, name,
				       &annotation->name_iid);
}

static int use_stack_category(struct writer *writer)
{
	uint64_t category;
	int err = perfetto_names_use_text(writer->names, PERFETTO_CATEGORY, "stack", &category);

	return err ? err : ADD_NUMBER(writer->categories, category);
}

/* Like "worker [1001]". */
static int use_thread_name(struct writer *writer, uint32_t id, uint64_t *ret)
{
	const struct timeline_thread *thread = timeline_get_thread(writer->timeline, id);

	text_truncate(&writer->text, 0);
	text_printf(&writer->text, "%s [%" PRIu32 "]",
		    timeline_get_string(writer->timeline, thread->name),
		    perfetto_tracks_get_tid(writer->tracks, id));
	if (writer->text.failed)
		return -ENOMEM;
	return perfetto_names_use_text(writer->names, PERFETTO_EVENT_NAME, writer->text.data, ret);
}

/*
 * The region's slice: who is on it. previous is its occupancy before, or NULL; where the thread
 * changed, an arrow leads from there to here.
 */
static int begin_occupancy(struct writer *writer, uint64_t track, const struct occupancy *occupancy,
			   uint64_t flow_in, uint64_t flow_out)
{
	Perfetto__TrackEvent *event = new_event(writer, EVENT_BEGIN, track);
	uint64_t tid = timeline_get_thread(writer->timeline, occupancy->thread)->tid;
	int err = use_thread_name(writer, occupancy->thread, &event->name_iid);

	event->has_name_iid = 1;
	if (!err)
		err = use_stack_category(writer);
	if (!err && flow_in)
		err = ADD_NUMBER(writer->terminating_flows, flow_in);
	if (!err && flow_out)
		err = ADD_NUMBER(writer->flows, flow_out);
	if (!err)
		err = add_annotation(writer, "tid", tid, false);
	if (!err && occupancy->pointer)
		err = add_annotation(writer, "sp", occupancy->pointer, true);
	if (!err)
		err = close_annotations(writer, NULL, NULL, NULL);
	return err ? err : add_event(writer, occupancy->begin_ns);
}

/* The thread's slice: which region it is on. */
static int begin_thread_slice(struct writer *writer, const struct occupancy *occupancy)
{
	const struct stack_region *region =
		timeline_get_region(writer->timeline, occupancy->region);
	Perfetto__TrackEvent *event;
	uint64_t track;
	int err = perfetto_tracks_use_thread_stack(writer->tracks, occupancy->thread, &track);

	if (err)
		return err;
	event = new_event(writer, EVENT_BEGIN, track);
	event->has_name_iid = 1;
	err = perfetto_names_use(writer->names, PERFETTO_EVENT_NAME, region->name,
				 &event->name_iid);
	if (!err)
		err = use_stack_category(writer);
	return err ? err : add_event(writer, occupancy->begin_ns);
}

/* By occupancy: the next one of its region, if another thread's. */
static uint32_t *find_hand_overs(const struct timeline *timeline)
{
	uint32_t count = timeline_count_occupancy(timeline);
	size_t num_regions = timeline_count_region(timeline);
	_cleanup_free_ uint32_t *later = malloc((num_regions + 1) * sizeof(*later));
	uint32_t *next = malloc(((size_t)count + 1) * sizeof(*next));

	if (!later || !next) {
		free(next);
		return NULL;
	}
	memset(later, 0xff, (num_regions + 1) * sizeof(*later));
	for (uint32_t i = count; i-- > 0;) {
		const struct occupancy *occupancy = timeline_get_occupancy(timeline, i);
		uint32_t *following = &later[occupancy->region];

		next[i] = TIMELINE_NONE;
		if (*following != TIMELINE_NONE &&
		    timeline_get_occupancy(timeline, *following)->thread != occupancy->thread)
			next[i] = *following;
		*following = i;
	}
	return next;
}

static int begin_slices(struct writer *writer, uint32_t id, bool is_handed_over, uint64_t *flow_in)
{
	const struct occupancy *occupancy = timeline_get_occupancy(writer->timeline, id);
	uint64_t flow_out = is_handed_over ? HAND_OVER_FLOW | id : 0;
	uint64_t track;
	int err = perfetto_tracks_use_region(writer->tracks, occupancy->region, &track);

	if (!err)
		err = begin_occupancy(writer, track, occupancy, flow_in[occupancy->region],
				      flow_out);
	flow_in[occupancy->region] = flow_out;
	return err ? err : begin_thread_slice(writer, occupancy);
}

static int end_slices(struct writer *writer, uint32_t id)
{
	const struct occupancy *occupancy = timeline_get_occupancy(writer->timeline, id);
	uint64_t track;
	int err = perfetto_tracks_use_region(writer->tracks, occupancy->region, &track);

	if (err)
		return err;
	new_event(writer, EVENT_END, track);
	err = add_event(writer, occupancy->end_ns);
	if (!err)
		err = perfetto_tracks_use_thread_stack(writer->tracks, occupancy->thread, &track);
	if (err)
		return err;
	new_event(writer, EVENT_END, track);
	return add_event(writer, occupancy->end_ns);
}

/* The begin of an occupancy is step 2 * id, its end the step behind. */
static uint64_t get_step_time(const struct timeline *timeline, uint64_t step)
{
	const struct occupancy *occupancy = timeline_get_occupancy(timeline, (uint32_t)(step / 2));

	return step % 2 ? occupancy->end_ns : occupancy->begin_ns;
}

/* Those of one region or thread keep their order, also where they are of the same time. */
static int compare_steps(const void *a, const void *b, void *timeline)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;
	uint64_t left_ns = get_step_time(timeline, left);
	uint64_t right_ns = get_step_time(timeline, right);

	if (left_ns != right_ns)
		return left_ns < right_ns ? -1 : 1;
	return (left > right) - (left < right);
}

static uint64_t *sort_steps(const struct timeline *timeline, size_t count)
{
	uint64_t *steps = malloc((count + 1) * sizeof(*steps));

	for (size_t i = 0; steps && i < count; i++)
		steps[i] = i;
	if (steps)
		qsort_r(steps, count, sizeof(*steps), compare_steps,
			(struct timeline *)(uintptr_t)timeline);
	return steps;
}

static int write_occupancies(struct writer *writer)
{
	size_t count = (size_t)timeline_count_occupancy(writer->timeline) * 2;
	_cleanup_free_ uint32_t *next = find_hand_overs(writer->timeline);
	_cleanup_free_ uint64_t *steps = sort_steps(writer->timeline, count);
	_cleanup_free_ uint64_t *flow_in =
		calloc(timeline_count_region(writer->timeline) + 1u, sizeof(*flow_in));
	int err = next && steps && flow_in ? 0 : -ENOMEM;

	if (!err && count)
		err = begin_sequence(writer, SEQUENCE_OCCUPANCIES);
	for (size_t i = 0; !err && i < count; i++) {
		uint32_t id = (uint32_t)(steps[i] / 2);

		err = steps[i] % 2 ? end_slices(writer, id)
				   : begin_slices(writer, id, next[id] != TIMELINE_NONE, flow_in);
	}
	return err;
}

/* ---- counters ----------------------------------------------------------------------------- */

static int write_fills(struct writer *writer)
{
	struct region_fill fill;
	uint64_t position = 0;
	int got = timeline_next_fill(writer->timeline, &position, &fill);
	int err = got > 0 ? begin_sequence(writer, SEQUENCE_FILLS) : 0;

	for (; !err && got > 0; got = timeline_next_fill(writer->timeline, &position, &fill)) {
		uint64_t track;

		err = perfetto_tracks_use_fill(writer->tracks, fill.region, &track);
		if (!err)
			err = add_counter(writer, track, fill.time_ns, (int64_t)fill.bytes);
	}
	return err ? err : got;
}

static int write_totals(struct writer *writer)
{
	uint32_t count = timeline_count_in_use(writer->timeline);
	int err = count ? begin_sequence(writer, SEQUENCE_TOTALS) : 0;

	for (uint32_t i = 0; !err && i < count; i++) {
		const struct regions_in_use *use = timeline_get_in_use(writer->timeline, i);
		uint64_t number_track, size_track;

		err = perfetto_tracks_use_totals(writer->tracks, use->process, &number_track,
						 &size_track);
		if (!err)
			err = add_counter(writer, number_track, use->time_ns, use->number);
		if (!err)
			err = add_counter(writer, size_track, use->time_ns, (int64_t)use->bytes);
	}
	return err;
}

static int write_counters(struct writer *writer)
{
	uint32_t count = timeline_count_counter_value(writer->timeline);
	int err = count ? begin_sequence(writer, SEQUENCE_COUNTERS) : 0;

	for (uint32_t i = 0; !err && i < count; i++) {
		const struct counter_value *value = timeline_get_counter_value(writer->timeline, i);
		Perfetto__TrackEvent *event;
		uint64_t track;

		err = perfetto_tracks_use_counter(writer->tracks, value->track, &track);
		if (err)
			break;
		if (value->type != VALUE_DOUBLE) {
			err = add_counter(writer, track, value->time_ns, value->value.i64);
			continue;
		}
		event = new_event(writer, EVENT_COUNTER, track);
		event->counter_value_field_case =
			PERFETTO__TRACK_EVENT__COUNTER_VALUE_FIELD_DOUBLE_COUNTER_VALUE;
		event->double_counter_value = value->value.number;
		err = add_event(writer, value->time_ns);
	}
	return err;
}

static void release(struct writer *writer)
{
	perfetto_names_free(writer->names);
	text_release(&writer->text);
	array_release(&writer->categories);
	array_release(&writer->flows);
	array_release(&writer->terminating_flows);
	array_release(&writer->annotations);
	array_release(&writer->annotation_pointers);
}

int perfetto_write_events(const struct timeline *timeline, struct perfetto_tracks *tracks,
			  struct perfetto_stream *stream)
{
	struct writer writer = {.timeline = timeline,
				.tracks = tracks,
				.stream = stream,
				.names = perfetto_names_new(timeline)};
	int err = writer.names ? 0 : -ENOMEM;

	if (!err)
		err = write_zones(&writer);
	if (!err)
		err = write_occupancies(&writer);
	if (!err)
		err = write_fills(&writer);
	if (!err)
		err = write_totals(&writer);
	if (!err)
		err = write_counters(&writer);
	release(&writer);
	return err;
}
