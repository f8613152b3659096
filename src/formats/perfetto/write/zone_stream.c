/*
 * A zone's start packet holds its name and attributes, but these are reported between its start and
 * its end. The zone that started last is pending: it is written as soon as something else starts or
 * ends. Details that are reported for a zone after that are late:
 *
 * 	first pass     late records go to a sorter, keyed by the zone's number
 * 	second pass    the sorter is read alongside: at each start, take_late() has its records
 *
 * Numbers count zones in order of start, the same in both passes. An input that changed meanwhile
 * is found by their total, or by a region or thread that was not declared (-ESTALE).
 */
#include "formats/perfetto/write/zone_stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "formats/perfetto/write/sched.h"
#include "formats/perfetto/write/slices.h"

/* Memory for items to sort, before they go to the store. */
#define SORTER_BYTES (1u << 20)

/* Beside the kinds of attributes: the zone's name. */
#define LATE_NAME 255

/*
 * A late name or attribute of a zone; the bytes of its string follow. Written to the store and read
 * back by the same process, in its own byte order.
 */
struct late_record {
	uint64_t value;
	uint32_t name; /* string of the first pass's timeline */
	uint8_t kind;  /* enum attribute_kind, or LATE_NAME */
	uint8_t type;
	uint8_t unused[2];
};

/* Strings are offsets, since the text they are in moves when it grows. */
struct carried {
	struct zone_attribute attribute;
	size_t string; /* offset in stream->strings */
	size_t length;
};

/* State of a region: its occupancy. The end is not written before the next thread is known. */
struct perfetto_region_state {
	uint64_t flow;
	uint64_t end_ns;
	uint32_t thread;
	bool has_ended;
};

struct perfetto_zone_stream {
	struct timeline_consumer consumer;
	const struct timeline *declared; /* the first pass's */
	struct timeline *timeline;       /* this pass's */
	bool is_writing;
	/* Zones are numbered in order of start, the same in both passes. */
	ARRAY(uint64_t) numbers; /* by the id of an open zone */
	uint64_t num_zones;
	uint64_t num_counter_values;
	uint64_t num_surveyed_zones;
	struct record_sorter late; /* by number */
	struct sorted_record next_late;
	bool has_late;
	/* The zone that started last, if it is not written yet. */
	uint32_t pending; /* TIMELINE_NONE */
	ARRAY(struct carried) carried;
	struct hash_index parameters; /* of these, by name */
	struct text strings;
	struct text name;
	bool has_name;
	/* While writing: */
	const struct record_store *store;
	struct perfetto_stream *packets;
	struct perfetto_tracks *tracks;
	struct perfetto_event_writer zones;
	struct perfetto_event_writer occupancies;
	struct perfetto_event_writer totals;
	struct perfetto_event_writer counters;
	ARRAY(struct perfetto_region_state) regions;
	uint64_t num_occupancies;
	ARRAY(uint32_t) depths; /* zones that are open, by region */
	bool is_too_deep;       /* the pending zone */
	uint64_t num_left_out;
	struct record_sorter uses; /* by time */
};

/* ---- contents of a zone ------------------------------------------------------------------- */

static bool is_parameter(const void *owner, uint32_t item, const void *key)
{
	const struct perfetto_zone_stream *stream = owner;

	return stream->carried.items[item].attribute.name == *(const uint32_t *)key;
}

/*
 * Parameters are taken out of the index one by one: emptying it would touch all of its slots for
 * each zone.
 */
static void forget_carried(struct perfetto_zone_stream *stream)
{
	for (uint32_t i = 0; i < stream->carried.length; i++) {
		const struct zone_attribute *attribute = &stream->carried.items[i].attribute;

		if (attribute->kind == ATTRIBUTE_PARAMETER)
			hash_index_remove(&stream->parameters, hash_mix(0, attribute->name), i);
	}
	stream->carried.length = 0;
	stream->strings.length = 0;
	stream->has_name = false;
	stream->pending = TIMELINE_NONE;
}

/* A parameter of a name that the zone has replaces its value. */
static struct carried *find_place(struct perfetto_zone_stream *stream,
				  const struct zone_attribute *attribute)
{
	uint32_t count = (uint32_t)stream->carried.length;
	uint64_t hash = hash_mix(0, attribute->name);
	uint32_t found = HASH_INDEX_NONE;
	struct carried *added;

	if (attribute->kind == ATTRIBUTE_PARAMETER)
		found = hash_index_find(&stream->parameters, hash, is_parameter, stream,
					&attribute->name);
	if (found != HASH_INDEX_NONE)
		return &stream->carried.items[found];
	added = array_add(&stream->carried);
	if (added && attribute->kind == ATTRIBUTE_PARAMETER &&
	    hash_index_add(&stream->parameters, hash, count)) {
		stream->carried.length--;
		return NULL;
	}
	return added;
}

static int carry(struct perfetto_zone_stream *stream, const struct zone_attribute *attribute,
		 const char *string, size_t length)
{
	struct carried *place = find_place(stream, attribute);

	if (!place)
		return -ENOMEM;
	*place = (struct carried){*attribute, stream->strings.length, length};
	text_append(&stream->strings, string ? string : "", length);
	return stream->strings.failed ? -ENOMEM : 0;
}

static int carry_name(struct perfetto_zone_stream *stream, const char *name, size_t length)
{
	text_truncate(&stream->name, 0);
	text_append_string(&stream->name, "");
	text_append(&stream->name, name, length);
	stream->has_name = true;
	return stream->name.failed ? -ENOMEM : 0;
}

/* ---- late records ------------------------------------------------------------------------- */

/* Only in the first pass: in the second, the same record has been added at the zone's start. */
static int put_aside(struct perfetto_zone_stream *stream, uint32_t zone,
		     const struct late_record *record, const char *string, size_t length)
{
	_cleanup_(text_release) struct text bytes = {0};

	text_append(&bytes, record, sizeof(*record));
	text_append(&bytes, string ? string : "", length);
	if (bytes.failed)
		return -ENOMEM;
	return record_sorter_add(&stream->late, stream->numbers.items[zone], bytes.data,
				 bytes.length);
}

static int take_record(struct perfetto_zone_stream *stream, const struct sorted_record *sorted)
{
	struct zone_attribute attribute = {.next = TIMELINE_NONE};
	const char *string = (const char *)sorted->data + sizeof(struct late_record);
	size_t length = sorted->size - sizeof(struct late_record);
	const struct string_table *strings = timeline_get_strings(stream->declared);
	struct late_record record;
	int err;

	memcpy(&record, sorted->data, sizeof(record));
	if (record.kind == LATE_NAME)
		return carry_name(stream, string, length);
	attribute.kind = record.kind;
	attribute.type = record.type;
	/* All values but strings have at most 64 bits, and are copied as such. */
	attribute.value.u64 = record.value;
	err = timeline_add_bytes(stream->timeline, string_table_get(strings, record.name),
				 string_table_get_length(strings, record.name), &attribute.name);
	if (err)
		return err;
	return carry(stream, &attribute, string, length);
}

static int move_to_next_late(struct perfetto_zone_stream *stream)
{
	int got = record_sorter_next(&stream->late, &stream->next_late);

	stream->has_late = got > 0;
	return got < 0 ? got : 0;
}

/* Add the late records of the pending zone, and skip those of zones that are not there. */
static int take_late(struct perfetto_zone_stream *stream)
{
	uint64_t number = stream->numbers.items[stream->pending];
	int err;

	while (stream->has_late && stream->next_late.key <= number) {
		if (stream->next_late.key == number) {
			err = take_record(stream, &stream->next_late);
			if (err)
				return err;
		}
		err = move_to_next_late(stream);
		if (err)
			return err;
	}
	return 0;
}

/* ---- zones -------------------------------------------------------------------------------- */

/* Bytes in use once only this zone is left open: from the region's end to the zone's pointer. */
static uint64_t get_fill(const struct perfetto_zone_stream *stream, uint32_t region, uint32_t zone)
{
	return zone == TIMELINE_NONE ? 0
				     : timeline_get_region(stream->timeline, region)->end -
					       timeline_get_zone(stream->timeline, zone)->pointer;
}

static int add_carried(struct perfetto_zone_stream *stream, const struct carried *carried)
{
	const struct zone_attribute *attribute = &carried->attribute;
	struct perfetto_event_string string = {
		.data = carried->length ? stream->strings.data + carried->string : "",
		.length = carried->length};

	switch ((enum attribute_kind)attribute->kind) {
	case ATTRIBUTE_PARAMETER:
		return perfetto_event_writer_add_parameter(&stream->zones, attribute, &string);
	case ATTRIBUTE_CATEGORY:
		return perfetto_event_writer_add_category(&stream->zones, &string);
	case ATTRIBUTE_FLOW:
		return perfetto_event_writer_add_flow(&stream->zones, attribute->value.u64, false);
	case ATTRIBUTE_TERMINATING_FLOW:
		return perfetto_event_writer_add_flow(&stream->zones, attribute->value.u64, true);
	}
	return -EINVAL;
}

static int write_start(struct perfetto_zone_stream *stream)
{
	const struct zone *zone = timeline_get_zone(stream->timeline, stream->pending);
	struct perfetto_event_string name = {.id = zone->name};
	int err = take_late(stream);

	if (err)
		return err;
	/* The fill is written nevertheless: it is a counter, which has no depth. */
	if (stream->is_too_deep)
		return perfetto_write_fill(&stream->zones, stream->tracks, zone->region,
					   get_fill(stream, zone->region, stream->pending),
					   zone->start_ns);
	if (stream->has_name)
		name = (struct perfetto_event_string){.data = stream->name.data,
						      .length = stream->name.length};
	err = perfetto_start_zone(&stream->zones, stream->tracks, zone,
				  get_fill(stream, zone->region, stream->pending));
	if (err)
		return err;
	err = perfetto_event_writer_set_name(&stream->zones, &name);
	if (err)
		return err;
	array_for_each (&stream->carried, carried) {
		err = add_carried(stream, carried);
		if (err)
			return err;
	}
	err = perfetto_event_writer_close_parameters(&stream->zones);
	if (err)
		return err;
	return perfetto_event_writer_add(&stream->zones, zone->start_ns);
}

/* Records for the pending zone are late from now on. */
static int flush(struct perfetto_zone_stream *stream)
{
	int err = 0;

	if (stream->pending != TIMELINE_NONE && stream->is_writing)
		err = write_start(stream);
	forget_carried(stream);
	return err;
}

/* The input may have changed since the first pass. */
static bool is_known(const struct perfetto_zone_stream *stream, const struct zone *zone)
{
	return zone->region < timeline_count_region(stream->declared) &&
	       zone->thread < timeline_count_thread(stream->declared);
}

static int start_zone(void *context, uint32_t zone)
{
	struct perfetto_zone_stream *stream = context;
	uint32_t region = timeline_get_zone(stream->timeline, zone)->region;
	int err = flush(stream);

	if (err)
		return err;
	if (!is_known(stream, timeline_get_zone(stream->timeline, zone)))
		return -ESTALE;
	while (stream->numbers.length <= zone)
		if (!array_add(&stream->numbers))
			return -ENOMEM;
	while (stream->depths.length <= region)
		if (!array_add(&stream->depths))
			return -ENOMEM;
	stream->is_too_deep = stream->depths.items[region]++ >= MAX_SLICE_DEPTH;
	stream->num_left_out += stream->is_too_deep && stream->is_writing;
	stream->numbers.items[zone] = stream->num_zones++;
	stream->pending = zone;
	return 0;
}

static int end_zone(void *context, uint32_t id)
{
	struct perfetto_zone_stream *stream = context;
	const struct zone *zone = timeline_get_zone(stream->timeline, id);
	uint64_t fill_bytes = get_fill(stream, zone->region, zone->parent);
	bool is_too_deep = --stream->depths.items[zone->region] >= MAX_SLICE_DEPTH;
	int err = flush(stream);

	if (err || !stream->is_writing)
		return err;
	if (is_too_deep)
		return perfetto_write_fill(&stream->zones, stream->tracks, zone->region, fill_bytes,
					   zone->end_ns);
	return perfetto_end_zone(&stream->zones, stream->tracks, zone->region, fill_bytes,
				 zone->end_ns);
}

static int rename_zone(void *context, uint32_t zone, const char *name, size_t length)
{
	static const struct late_record record = {.kind = LATE_NAME};
	struct perfetto_zone_stream *stream = context;

	if (zone == stream->pending)
		return carry_name(stream, name, length);
	return stream->is_writing ? 0 : put_aside(stream, zone, &record, name, length);
}

static int add_attribute(void *context, uint32_t zone, const struct zone_attribute *attribute,
			 const char *string, size_t length)
{
	struct perfetto_zone_stream *stream = context;
	struct late_record record = {.value = attribute->value.u64,
				     .name = attribute->name,
				     .kind = attribute->kind,
				     .type = attribute->type};

	if (zone == stream->pending)
		return carry(stream, attribute, string, length);
	return stream->is_writing ? 0 : put_aside(stream, zone, &record, string, length);
}

/* ---- occupancies -------------------------------------------------------------------------- */

/* End the slice of the thread on the region; if another thread follows, with an arrow to it. */
static int end_slice(struct perfetto_zone_stream *stream, uint32_t region, uint32_t next_thread,
		     uint64_t *ret_flow)
{
	struct perfetto_region_state *state = &stream->regions.items[region];
	bool is_handed_over = next_thread != TIMELINE_NONE && next_thread != state->thread;

	*ret_flow = 0;
	if (!state->has_ended)
		return 0;
	state->has_ended = false;
	*ret_flow = is_handed_over ? state->flow : 0;
	return perfetto_end_region_slice(&stream->occupancies, stream->tracks, region, *ret_flow,
					 state->end_ns);
}

static int start_occupancy(void *context, const struct occupancy *occupancy)
{
	struct perfetto_zone_stream *stream = context;
	uint64_t flow;
	uint32_t name;
	int err;

	if (!stream->is_writing)
		return 0;
	while (stream->regions.length <= occupancy->region)
		if (!array_add(&stream->regions))
			return -ENOMEM;
	err = end_slice(stream, occupancy->region, occupancy->thread, &flow);
	if (err)
		return err;
	stream->regions.items[occupancy->region] = (struct perfetto_region_state){
		.thread = occupancy->thread, .flow = HAND_OVER_FLOW | stream->num_occupancies++};
	name = timeline_get_thread(stream->declared, occupancy->thread)->name;
	err = perfetto_start_region_slice(&stream->occupancies, stream->tracks, occupancy,
					  timeline_get_string(stream->declared, name), flow, 0);
	if (err)
		return err;
	return perfetto_start_thread_slice(&stream->occupancies, stream->tracks, occupancy);
}

static int end_occupancy(void *context, const struct occupancy *occupancy)
{
	struct perfetto_zone_stream *stream = context;
	struct perfetto_region_state *state;

	if (!stream->is_writing)
		return 0;
	state = &stream->regions.items[occupancy->region];
	state->has_ended = true;
	state->end_ns = occupancy->end_ns;
	return perfetto_end_thread_slice(&stream->occupancies, stream->tracks, occupancy->thread,
					 occupancy->end_ns);
}

/* ---- counters ----------------------------------------------------------------------------- */

static int change_use(void *context, uint32_t region, uint64_t time_ns, bool is_start)
{
	struct perfetto_zone_stream *stream = context;
	const struct stack_region *used = timeline_get_region(stream->timeline, region);
	uint64_t bytes = used->kind == REGION_DECLARED ? used->end - used->start : 0;
	/* Differences, wrapped around if negative: their sums are right. */
	uint64_t change[] = {is_start ? 1 : -1ull, is_start ? bytes : -bytes};

	return stream->is_writing
		       ? record_sorter_add(&stream->uses, time_ns, change, sizeof(change))
		       : 0;
}

/* Running sums over the changes; those of one moment are one step. */
static int write_uses(struct perfetto_zone_stream *stream, uint32_t process)
{
	struct regions_in_use use = {.process = process};
	bool has_use = false;
	int err = record_sorter_finish(&stream->uses);

	if (err)
		return err;
	for (;;) {
		struct sorted_record record;
		uint64_t change[2];
		int got = record_sorter_next(&stream->uses, &record);

		if (got < 0)
			return got;
		if (has_use && (!got || record.key != use.time_ns)) {
			err = perfetto_write_use(&stream->totals, stream->tracks, &use);
			if (err)
				return err;
		}
		if (!got)
			return 0;
		memcpy(change, record.data, sizeof(change));
		use.time_ns = record.key;
		use.number += (uint32_t)change[0];
		use.bytes += change[1];
		has_use = true;
	}
}

static int finish_uses(void *context, uint32_t process)
{
	struct perfetto_zone_stream *stream = context;
	int err;

	if (!stream->is_writing)
		return 0;
	if (process >= timeline_count_process(stream->declared))
		return -ESTALE;
	/* Each process has counters of its own: the sorter starts anew for the next. */
	err = write_uses(stream, process);
	record_sorter_release(&stream->uses);
	record_sorter_init(&stream->uses, stream->store, SORTER_BYTES);
	return err;
}

static int add_counter_value(void *context, const struct counter_value *value)
{
	struct perfetto_zone_stream *stream = context;
	uint64_t track;
	int err;

	stream->num_counter_values++;
	if (!stream->is_writing)
		return 0;
	if (value->track >= timeline_count_counter_track(stream->declared))
		return -ESTALE;
	err = perfetto_tracks_use_counter(stream->tracks, value->track, &track);
	if (err)
		return err;
	return perfetto_event_writer_add_value(&stream->counters, track, value);
}

/* ---- the passes --------------------------------------------------------------------------- */

struct perfetto_zone_stream *perfetto_zone_stream_new(const struct record_store *store)
{
	struct perfetto_zone_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->store = store;
	stream->pending = TIMELINE_NONE;
	stream->consumer = (struct timeline_consumer){
		.start_zone = start_zone,
		.end_zone = end_zone,
		.rename_zone = rename_zone,
		.add_attribute = add_attribute,
		.start_occupancy = start_occupancy,
		.end_occupancy = end_occupancy,
		.change_use = change_use,
		.finish_uses = finish_uses,
		.add_counter_value = add_counter_value,
		.context = stream,
	};
	record_sorter_init(&stream->late, store, SORTER_BYTES);
	record_sorter_init(&stream->uses, store, SORTER_BYTES);
	return stream;
}

void perfetto_zone_stream_free(struct perfetto_zone_stream *stream)
{
	if (!stream)
		return;
	array_release(&stream->numbers);
	array_release(&stream->carried);
	hash_index_release(&stream->parameters);
	text_release(&stream->strings);
	text_release(&stream->name);
	record_sorter_release(&stream->late);
	record_sorter_release(&stream->uses);
	perfetto_event_writer_release(&stream->zones);
	perfetto_event_writer_release(&stream->occupancies);
	perfetto_event_writer_release(&stream->totals);
	perfetto_event_writer_release(&stream->counters);
	array_release(&stream->regions);
	array_release(&stream->depths);
	perfetto_tracks_free(stream->tracks);
	free(stream);
}

void perfetto_zone_stream_survey(struct perfetto_zone_stream *stream, struct timeline *timeline)
{
	stream->declared = timeline;
	stream->timeline = timeline;
	timeline_set_consumer(timeline, &stream->consumer);
}

static int start_sequence(struct perfetto_zone_stream *stream, struct perfetto_event_writer *writer,
			  enum perfetto_sequence_id sequence, bool is_used)
{
	int err = perfetto_event_writer_init(writer, stream->timeline, stream->packets);

	if (err || !is_used)
		return err;
	err = perfetto_stream_start_clock(stream->packets, sequence, 0);
	if (err)
		return err;
	return perfetto_event_writer_start_sequence(writer, sequence);
}

static int start_sequences(struct perfetto_zone_stream *stream)
{
	bool has_zones = stream->num_zones != 0;
	int err = start_sequence(stream, &stream->zones, SEQUENCE_EVENTS, has_zones);

	if (err)
		return err;
	err = start_sequence(stream, &stream->occupancies, SEQUENCE_OCCUPANCIES, has_zones);
	if (err)
		return err;
	err = start_sequence(stream, &stream->totals, SEQUENCE_TOTALS, has_zones);
	if (err)
		return err;
	return start_sequence(stream, &stream->counters, SEQUENCE_COUNTERS,
			      stream->num_counter_values != 0);
}

int perfetto_zone_stream_write(struct perfetto_zone_stream *stream, struct timeline *timeline,
			       struct perfetto_stream *packets)
{
	int err = record_sorter_finish(&stream->late);

	if (err)
		return err;
	stream->timeline = timeline;
	stream->packets = packets;
	timeline_set_consumer(timeline, &stream->consumer);
	stream->tracks = perfetto_tracks_new(stream->declared, packets);
	if (!stream->tracks)
		return -ENOMEM;
	err = perfetto_write_system(stream->declared, packets);
	if (err)
		return err;
	err = start_sequences(stream);
	if (err)
		return err;
	err = perfetto_tracks_describe_threads(stream->tracks);
	if (err)
		return err;
	err = move_to_next_late(stream);
	if (err)
		return err;
	forget_carried(stream);
	stream->is_writing = true;
	stream->num_surveyed_zones = stream->num_zones;
	stream->num_zones = 0;
	return 0;
}

/* Occupancies whose end was held back, for a possible next one, end now. */
int perfetto_zone_stream_finish(struct perfetto_zone_stream *stream, uint64_t *ret_num_left_out)
{
	if (stream->num_zones != stream->num_surveyed_zones)
		return -ESTALE;
	for (uint32_t region = 0; region < stream->regions.length; region++) {
		uint64_t flow;
		int err = end_slice(stream, region, TIMELINE_NONE, &flow);

		if (err)
			return err;
	}
	*ret_num_left_out = stream->num_left_out;
	return perfetto_stream_finish(stream->packets);
}
