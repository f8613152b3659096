/*
 * Reading Perfetto traces: tracks.
 *
 * A descriptor may follow the events on its track, so the first round reads them all. Once they are
 * complete, each track gets a role: our own writer's tracks (see write/tracks.h) are recognized by
 * name and parent, so that regions, fill and zones are restored.
 */
#include "formats/perfetto/read/tracks.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/perfetto/waits.h"

#define GROUP_NAME        "Stacks"
#define ZONES_NAME        "zones"
#define FILL_NAME         "fill"
#define STACK_IN_USE_NAME "stack in use"
#define NUM_STACKS_NAME   "Number of stacks"
#define SIZE_STACKS_NAME  "Known stacks total size"
#define GUESSED           "guessed"
#define AT_LEAST          "at least"

/* ---- descriptors -------------------------------------------------------------------------- */

/* Units are an enum of the protocol: unspecified, nanoseconds, count, bytes. */
static int read_counter(struct perfetto_track_table *tracks, struct bytes message,
			struct perfetto_track *track)
{
	static const char *const units[] = {"", "ns", "", "bytes"};
	struct protobuf_field field;
	int err = 0;

	track->is_counter = true;
	while (protobuf_next(&message, &field)) {
		if (field.number == 3 && field.type == PROTOBUF_VARINT && field.value < 4)
			err = timeline_add_string(tracks->trace->timeline, units[field.value],
						  &track->unit);
		else if (field.number == 4 && field.type == PROTOBUF_VARINT && field.value)
			track->multiplier = (int64_t)field.value;
		else if (field.number == 5 && field.type == PROTOBUF_VARINT)
			track->is_incremental = field.value != 0;
		else if (field.number == 6 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(tracks->trace, field.body, &track->unit);
		if (err)
			return err;
	}
	return 0;
}

/* "[0x1000, 0x2000), …": the bounds of a stack region, as our writer describes them. */
static void read_bounds(struct bytes text, struct perfetto_track *track)
{
	uint64_t bounds[2] = {0};
	size_t at = 1;

	if (!text.size || text.data[0] != '[')
		return;
	for (int i = 0; i < 2; i++) {
		at += i && at < text.size && text.data[at] == ',' ? 2 : 0;
		if (at + 2 > text.size || text.data[at] != '0' || text.data[at + 1] != 'x')
			return;
		at += 2;
		at += hex_read((const char *)text.data + at, text.size - at, &bounds[i]);
	}
	if (bounds[1] && bounds[0] <= bounds[1] && at < text.size && text.data[at] == ')') {
		if (memmem(text.data, text.size, GUESSED, strlen(GUESSED)))
			track->region_kind = REGION_IMPLICIT;
		else if (memmem(text.data, text.size, AT_LEAST, strlen(AT_LEAST)))
			track->region_kind = REGION_PARTIAL;
		track->region_start = bounds[0];
		track->region_end = bounds[1];
	}
}

static int read_descriptor_field(struct perfetto_track_table *tracks,
				 const struct protobuf_field *field, uint64_t since_ns,
				 struct perfetto_track *track)
{
	if (field->type == PROTOBUF_VARINT && field->number == 1)
		track->uuid = field->value;
	else if (field->type == PROTOBUF_VARINT && field->number == 5)
		track->parent_uuid = field->value;
	if (field->type != PROTOBUF_BYTES)
		return 0;
	switch (field->number) {
	case 2:
	case 10: /* static_name */
		return perfetto_add_string(tracks->trace, field->body, &track->name);
	case 3:
		return perfetto_threads_read_process(tracks->threads, field->body, since_ns,
						     &track->process);
	case 4:
		return perfetto_threads_read_thread(tracks->threads, field->body, since_ns,
						    &track->thread);
	case 8:
		return read_counter(tracks, field->body, track);
	case 14:
		read_bounds(field->body, track);
		return 0;
	}
	return 0;
}

static const struct perfetto_track new_track = {
	.process = PERFETTO_NONE,
	.thread = PERFETTO_NONE,
	.item = TIMELINE_NONE,
	.owner = TIMELINE_NONE,
	.first_event = PERFETTO_NONE,
	.last_event = PERFETTO_NONE,
	.multiplier = 1,
};

static struct perfetto_track *find_track(const struct perfetto_track_table *tracks, uint64_t uuid)
{
	uint32_t found = perfetto_tracks_by_uuid_find(&tracks->items,
						      &(struct perfetto_track){.uuid = uuid});

	return found == HASH_INDEX_NONE ? NULL : &tracks->items.items[found];
}

/* A track may be described several times, each time with more. */
int perfetto_track_table_read(struct perfetto_track_table *tracks, struct bytes message,
			      uint64_t since_ns)
{
	struct perfetto_track track = new_track;
	struct perfetto_track *known;
	struct protobuf_field field;
	uint32_t ignored;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		err = read_descriptor_field(tracks, &field, since_ns, &track);
		if (err)
			return err;
	}
	known = find_track(tracks, track.uuid);
	if (!known)
		return perfetto_has_room(tracks->trace, tracks->items.length, 32)
			       ? perfetto_tracks_by_uuid_add(&tracks->items, &track, &ignored)
			       : 0;
	/* The first description stays; a later one only adds. */
	if (!known->parent_uuid)
		known->parent_uuid = track.parent_uuid;
	if (known->name == STRING_EMPTY)
		known->name = track.name;
	if (!known->region_end) {
		known->region_start = track.region_start;
		known->region_end = track.region_end;
		known->region_kind = track.region_kind;
	}
	if (known->process == PERFETTO_NONE)
		known->process = track.process;
	if (known->thread == PERFETTO_NONE)
		known->thread = track.thread;
	if (!known->is_counter && track.is_counter) {
		known->is_counter = true;
		known->is_incremental = track.is_incremental;
		known->multiplier = track.multiplier;
		known->unit = track.unit;
	}
	return 0;
}

/* ---- in order ----------------------------------------------------------------------------- */

/*
 * Recognize the tracks of our own writer, by their names and parents. A name alone is not enough,
 * since any program may have a counter called "fill".
 */
static enum perfetto_role find_role(const struct perfetto_track_table *tracks,
				    const struct perfetto_track *track)
{
	const struct perfetto_track *parent = perfetto_track_table_get_parent(tracks, track);
	const char *name = timeline_get_string(tracks->trace->timeline, track->name);
	const char *group;

	if (!parent)
		return track->is_counter ? PERFETTO_COUNTER : PERFETTO_TRACK;
	group = timeline_get_string(tracks->trace->timeline, parent->name);
	if (track->region_end && string_equals(group, GROUP_NAME) && !track->is_counter)
		return PERFETTO_REGION;
	if (parent->region_end && track->is_counter && string_equals(name, FILL_NAME))
		return PERFETTO_FILL;
	if (parent->region_end && !track->is_counter && string_equals(name, ZONES_NAME))
		return PERFETTO_ZONES;
	if (parent->process != PERFETTO_NONE && track->is_counter &&
	    string_equals(name, NUM_STACKS_NAME))
		return PERFETTO_NUM_STACKS;
	if (parent->process != PERFETTO_NONE && track->is_counter &&
	    string_equals(name, SIZE_STACKS_NAME))
		return PERFETTO_SIZE_STACKS;
	if (parent->thread != PERFETTO_NONE && !track->is_counter &&
	    string_equals(name, STACK_IN_USE_NAME))
		return PERFETTO_STACK_IN_USE;
	if (parent->thread != PERFETTO_NONE && !track->is_counter &&
	    string_equals(name, PERFETTO_WAITS_TRACK))
		return PERFETTO_WAITS;
	return track->is_counter ? PERFETTO_COUNTER : PERFETTO_TRACK;
}

void perfetto_track_table_set_roles(struct perfetto_track_table *tracks)
{
	array_for_each (&tracks->items, track)
		track->role = (uint8_t)find_role(tracks, track);
}

struct perfetto_track *perfetto_track_table_find(struct perfetto_track_table *tracks, uint64_t uuid)
{
	struct perfetto_track track = new_track;
	uint32_t found = tracks->last;

	track.uuid = uuid;
	/* Most events are on the track of the one before. */
	if (found >= tracks->items.length || tracks->items.items[found].uuid != uuid)
		found = perfetto_tracks_by_uuid_find(&tracks->items, &track);
	/* An event on a track that nothing describes gets one: its name is lost, not its slices. */
	if (found == HASH_INDEX_NONE &&
	    (!perfetto_has_room(tracks->trace, tracks->items.length, 32) ||
	     perfetto_tracks_by_uuid_add(&tracks->items, &track, &found)))
		return NULL;
	tracks->last = found;
	return &tracks->items.items[found];
}

struct perfetto_track *perfetto_track_table_get_parent(const struct perfetto_track_table *tracks,
						       const struct perfetto_track *track)
{
	if (!track->parent_uuid || track->process != PERFETTO_NONE ||
	    track->thread != PERFETTO_NONE)
		return NULL;
	return find_track(tracks, track->parent_uuid);
}

void perfetto_track_table_release(struct perfetto_track_table *tracks)
{
	perfetto_tracks_by_uuid_release(&tracks->items);
}
