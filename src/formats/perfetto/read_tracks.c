/*
 * Reading Perfetto traces: processes, threads and tracks.
 *
 * A descriptor may come after what it describes, so a first round reads them all. Of several
 * descriptors of one pid or tid each counts from the time of its packet on.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/perfetto_reader.h"

#define GROUP_NAME        "Stacks"
#define ZONES_NAME        "zones"
#define FILL_NAME         "fill"
#define STACK_IN_USE_NAME "stack in use"
#define NUM_STACKS_NAME   "Number of stacks"
#define SIZE_STACKS_NAME  "Known stacks total size"
#define GUESSED           "guessed"

/* ---- descriptors -------------------------------------------------------------------------- */

static int add_process(struct perfetto_reader *reader, const struct perfetto_process *process,
		       uint32_t *ret)
{
	struct perfetto_process *added;

	*ret = PERFETTO_NONE;
	if (!perfetto_has_room(reader, reader->processes.length, 16))
		return 0;
	added = array_add(&reader->processes);
	if (!added)
		return -ENOMEM;
	*added = *process;
	added->process = TIMELINE_NONE;
	*ret = added->order = (uint32_t)(reader->processes.length - 1);
	return 0;
}

static int add_thread(struct perfetto_reader *reader, const struct perfetto_thread *thread,
		      uint32_t *ret)
{
	struct perfetto_thread *added;

	*ret = PERFETTO_NONE;
	if (!perfetto_has_room(reader, reader->threads.length, 16))
		return 0;
	added = array_add(&reader->threads);
	if (!added)
		return -ENOMEM;
	*added = *thread;
	added->thread = TIMELINE_NONE;
	*ret = added->order = (uint32_t)(reader->threads.length - 1);
	return 0;
}

/* Of a command line the first word's last part. */
static int add_base_name(struct perfetto_reader *reader, struct bytes path, uint32_t *ret)
{
	size_t start = path.size;

	while (start && path.data[start - 1] != '/')
		start--;
	return perfetto_add_string(reader, bytes_of(path.data + start, path.size - start), ret);
}

static int read_process(struct perfetto_reader *reader, struct bytes message, uint64_t since_ns,
			uint32_t *ret)
{
	struct perfetto_process process = {.since_ns = since_ns};
	struct protobuf_field field;
	bool has_name = false;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			process.pid = (uint32_t)field.value;
		else if (field.number == 7 && field.type == PROTOBUF_VARINT)
			process.start_ns = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES && !process.name)
			err = add_base_name(reader, field.body, &process.name);
		else if (field.number == 6 && field.type == PROTOBUF_BYTES && !has_name) {
			err = perfetto_add_string(reader, field.body, &process.name);
			has_name = true;
		}
	}
	return err ? err : add_process(reader, &process, ret);
}

static int read_thread(struct perfetto_reader *reader, struct bytes message, uint64_t since_ns,
		       uint32_t *ret)
{
	struct perfetto_thread thread = {.since_ns = since_ns};
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			thread.pid = (uint32_t)field.value;
		else if (field.number == 2 && field.type == PROTOBUF_VARINT)
			thread.tid = (uint32_t)field.value;
		else if (field.number == 5 && field.type == PROTOBUF_BYTES) {
			err = perfetto_add_string(reader, field.body, &thread.name);
			thread.has_name = true;
		}
	}
	return err ? err : add_thread(reader, &thread, ret);
}

int perfetto_read_thread(struct perfetto_reader *reader, struct bytes message, uint64_t since_ns)
{
	uint32_t ignored;

	return read_thread(reader, message, since_ns, &ignored);
}

static int read_counter(struct perfetto_reader *reader, struct bytes message,
			struct perfetto_track *track)
{
	static const char *const units[] = {"", "ns", "", "bytes"};
	struct protobuf_field field;
	int err = 0;

	track->is_counter = true;
	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 3 && field.type == PROTOBUF_VARINT && field.value < 4)
			err = timeline_add_string(reader->timeline, units[field.value],
						  &track->unit);
		else if (field.number == 4 && field.type == PROTOBUF_VARINT && field.value)
			track->multiplier = (int64_t)field.value;
		else if (field.number == 5 && field.type == PROTOBUF_VARINT)
			track->is_incremental = field.value != 0;
		else if (field.number == 6 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(reader, field.body, &track->unit);
	}
	return err;
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
		track->is_guessed = memmem(text.data, text.size, GUESSED, strlen(GUESSED)) != NULL;
		track->region_begin = bounds[0];
		track->region_end = bounds[1];
	}
}

static int read_descriptor_field(struct perfetto_reader *reader, const struct protobuf_field *field,
				 uint64_t since_ns, struct perfetto_track *track)
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
		return perfetto_add_string(reader, field->body, &track->name);
	case 3:
		return read_process(reader, field->body, since_ns, &track->process);
	case 4:
		return read_thread(reader, field->body, since_ns, &track->thread);
	case 8:
		return read_counter(reader, field->body, track);
	case 14:
		read_bounds(field->body, track);
		return 0;
	}
	return 0;
}

static bool is_track(const void *owner, uint32_t item, const void *key)
{
	return ((const struct perfetto_reader *)owner)->tracks.items[item].uuid ==
	       *(const uint64_t *)key;
}

static struct perfetto_track *find_track(const struct perfetto_reader *reader, uint64_t uuid)
{
	uint32_t found =
		hash_index_find(&reader->track_index, hash_mix(0, uuid), is_track, reader, &uuid);

	return found == HASH_INDEX_NONE ? NULL : &reader->tracks.items[found];
}

static int add_track(struct perfetto_reader *reader, const struct perfetto_track *track)
{
	struct perfetto_track *added;

	if (!perfetto_has_room(reader, reader->tracks.length, 32))
		return 0;
	added = array_add(&reader->tracks);
	if (!added)
		return -ENOMEM;
	*added = *track;
	return hash_index_add(&reader->track_index, hash_mix(0, track->uuid),
			      (uint32_t)(reader->tracks.length - 1));
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

/* A track may be described several times, each time with more. */
int perfetto_read_descriptor(struct perfetto_reader *reader, struct bytes message,
			     uint64_t since_ns)
{
	struct perfetto_track track = new_track;
	struct perfetto_track *known;
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field))
		err = read_descriptor_field(reader, &field, since_ns, &track);
	if (err)
		return err;
	known = find_track(reader, track.uuid);
	if (!known)
		return add_track(reader, &track);
	if (!known->parent_uuid)
		known->parent_uuid = track.parent_uuid;
	if (known->name == STRING_EMPTY)
		known->name = track.name;
	if (!known->region_end) {
		known->region_begin = track.region_begin;
		known->region_end = track.region_end;
		known->is_guessed = track.is_guessed;
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

/* ---- the process tree --------------------------------------------------------------------- */

static int read_tree_process(struct perfetto_reader *reader, struct bytes message,
			     uint64_t since_ns)
{
	struct perfetto_process process = {.since_ns = since_ns};
	struct protobuf_field field;
	bool has_name = false;
	uint32_t ignored;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT) {
			process.pid = (uint32_t)field.value;
		} else if (field.number == 3 && field.type == PROTOBUF_BYTES && !has_name) {
			err = add_base_name(reader, field.body, &process.name);
			has_name = true;
		}
	}
	return err ? err : add_process(reader, &process, &ignored);
}

static int read_tree_thread(struct perfetto_reader *reader, struct bytes message, uint64_t since_ns)
{
	struct perfetto_thread thread = {.since_ns = since_ns};
	struct protobuf_field field;
	uint32_t ignored;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			thread.tid = (uint32_t)field.value;
		else if (field.number == 3 && field.type == PROTOBUF_VARINT)
			thread.pid = (uint32_t)field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(reader, field.body, &thread.name);
	}
	return err ? err : add_thread(reader, &thread, &ignored);
}

int perfetto_read_process_tree(struct perfetto_reader *reader, struct bytes message,
			       uint64_t since_ns)
{
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			err = read_tree_process(reader, field.body, since_ns);
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = read_tree_thread(reader, field.body, since_ns);
	}
	return err;
}

/* ---- in order ----------------------------------------------------------------------------- */

/* What our own writer describes, by its place below the track of its process. */
static enum perfetto_role find_role(const struct perfetto_reader *reader,
				    const struct perfetto_track *track)
{
	const struct perfetto_track *parent = perfetto_get_parent(reader, track);
	const char *name = timeline_get_string(reader->timeline, track->name);
	const char *group;

	if (!parent)
		return track->is_counter ? PERFETTO_COUNTER : PERFETTO_TRACK;
	group = timeline_get_string(reader->timeline, parent->name);
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
	return track->is_counter ? PERFETTO_COUNTER : PERFETTO_TRACK;
}

/* Sorting moves what tracks point at: they point at the order in the file until here. */
static int sort_descriptors(struct perfetto_reader *reader)
{
	size_t num_processes = reader->processes.length;
	size_t num_threads = reader->threads.length;
	_cleanup_free_ uint32_t *places =
		malloc((num_processes + num_threads + 1) * sizeof(*places));

	if (!places)
		return -ENOMEM;
	if (num_processes)
		qsort(reader->processes.items, num_processes, sizeof(*reader->processes.items),
		      perfetto_compare_processes);
	if (num_threads)
		qsort(reader->threads.items, num_threads, sizeof(*reader->threads.items),
		      perfetto_compare_threads);
	for (uint32_t i = 0; i < num_processes; i++)
		places[reader->processes.items[i].order] = i;
	for (uint32_t i = 0; i < num_threads; i++)
		places[num_processes + reader->threads.items[i].order] = i;
	array_for_each (&reader->tracks, track) {
		if (track->process != PERFETTO_NONE)
			track->process = places[track->process];
		if (track->thread != PERFETTO_NONE)
			track->thread = places[num_processes + track->thread];
	}
	return 0;
}

int perfetto_finish_descriptors(struct perfetto_reader *reader)
{
	int err = sort_descriptors(reader);

	if (err)
		return err;
	array_for_each (&reader->tracks, track)
		track->role = (uint8_t)find_role(reader, track);
	return reader->import->timeline ? perfetto_use_described(reader) : 0;
}

struct perfetto_track *perfetto_find_track(struct perfetto_reader *reader, uint64_t uuid)
{
	struct perfetto_track track = new_track;

	if (reader->last_track < reader->tracks.length &&
	    reader->tracks.items[reader->last_track].uuid == uuid)
		return &reader->tracks.items[reader->last_track];
	if (!find_track(reader, uuid)) {
		track.uuid = uuid;
		if (add_track(reader, &track))
			return NULL;
	}
	reader->last_track =
		hash_index_find(&reader->track_index, hash_mix(0, uuid), is_track, reader, &uuid);
	return reader->last_track == HASH_INDEX_NONE ? NULL
						     : &reader->tracks.items[reader->last_track];
}

struct perfetto_track *perfetto_get_parent(const struct perfetto_reader *reader,
					   const struct perfetto_track *track)
{
	if (!track->parent_uuid || track->process != PERFETTO_NONE ||
	    track->thread != PERFETTO_NONE)
		return NULL;
	return find_track(reader, track->parent_uuid);
}
