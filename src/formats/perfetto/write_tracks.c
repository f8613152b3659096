#include "formats/perfetto/write_tracks.h"

#include <errno.h>
#include <inttypes.h>

#include "base/hash.h"
#include "base/utf8.h"

/* Values of the format; see perfetto.proto. */
#define ORDER_BY_RANK 3
#define NEVER_MERGE   2
#define UNIT_COUNT    2
#define UNIT_BYTES    3

/* Of processes whose pid no input tells, and of threads; above every pid of Linux. */
#define FIRST_SYNTHETIC_ID 2000000000u

/* uuids are small numbers, one block a kind: process, region and so on. */
#define UUIDS_OF_PROCESS 4u /* itself, Stacks, the two counters of regions in use */
#define UUIDS_OF_THREAD  2u /* itself, stack in use */
#define UUIDS_OF_REGION  3u /* itself, zones, fill */

/*
 * uuids identify tracks in the whole trace. Small ones are short, and make plain arrays by uuid
 * possible.
 */
struct perfetto_tracks {
	const struct timeline *timeline;
	struct perfetto_stream *stream;
	uint64_t first_thread_uuid;
	uint64_t first_region_uuid;
	uint64_t first_counter_uuid;
	uint32_t *pids;         /* by process */
	uint32_t *tids;         /* by thread */
	bool *took_over;        /* by process: its pid was another one's before */
	bool *thread_took_over; /* by thread: its tid was another one's of the process before */
	int32_t *ranks;         /* by process: of its region that was used last */
	struct perfetto_emitted emitted; /* tracks that are described, by uuid */
	struct text name;
	struct text description;
};

/* ---- pids and tids ------------------------------------------------------------------------ */

static bool is_pid(const void *owner, uint32_t item, const void *key)
{
	return ((const struct perfetto_tracks *)owner)->pids[item] == *(const uint32_t *)key;
}

/* A process without pid gets the number of its first thread: most often that is the same. */
static void guess_pids(struct perfetto_tracks *tracks)
{
	for (uint32_t i = 0; i < timeline_count_thread(tracks->timeline); i++) {
		const struct timeline_thread *thread = timeline_get_thread(tracks->timeline, i);
		uint32_t *pid = &tracks->pids[thread->process];

		if (!*pid && thread->tid && thread->tid < FIRST_SYNTHETIC_ID)
			*pid = (uint32_t)thread->tid;
	}
}

/* Two processes may have had one pid after another, but a guess must be unique. */
static int choose_pids(struct perfetto_tracks *tracks)
{
	_cleanup_(hash_index_release) struct hash_index index = {0};
	uint32_t synthetic = FIRST_SYNTHETIC_ID;
	int err = 0;

	guess_pids(tracks);
	for (uint32_t i = 0; i < timeline_count_process(tracks->timeline); i++) {
		uint32_t *pid = &tracks->pids[i];
		bool is_guess = !timeline_get_process(tracks->timeline, i)->pid;

		if (!is_guess)
			*pid = timeline_get_process(tracks->timeline, i)->pid;
		else if (!*pid || hash_index_find(&index, hash_mix(0, *pid), is_pid, tracks, pid) !=
					  HASH_INDEX_NONE)
			*pid = synthetic++;
		err = hash_index_add(&index, hash_mix(0, *pid), i);
		if (err)
			return err;
	}
	return 0;
}

/*
 * An exec and a reused pid give a pid another process from then on: what is said of that one must
 * carry its time, or readers would take the one described last for all of them.
 */
static int find_successors(struct perfetto_tracks *tracks)
{
	_cleanup_(hash_index_release) struct hash_index index = {0};
	int err = 0;

	for (uint32_t i = 0; i < timeline_count_process(tracks->timeline); i++) {
		const uint32_t *pid = &tracks->pids[i];
		uint64_t hash = hash_mix(0, *pid);
		uint32_t first = hash_index_find(&index, hash, is_pid, tracks, pid);
		uint64_t start_ns = timeline_get_process(tracks->timeline, i)->start_ns;

		if (first != HASH_INDEX_NONE &&
		    timeline_get_process(tracks->timeline, first)->start_ns <= start_ns) {
			tracks->took_over[i] = start_ns != 0;
			continue;
		}
		if (first != HASH_INDEX_NONE) {
			tracks->took_over[first] = true;
			hash_index_remove(&index, hash, first);
		}
		err = hash_index_add(&index, hash, i);
		if (err)
			return err;
	}
	return 0;
}

struct thread_key {
	uint32_t process;
	uint32_t tid;
};

static bool is_tid(const void *owner, uint32_t item, const void *key)
{
	const struct perfetto_tracks *tracks = owner;
	const struct thread_key *wanted = key;

	return tracks->tids[item] == wanted->tid &&
	       timeline_get_thread(tracks->timeline, item)->process == wanted->process;
}

static uint64_t hash_tid(const struct thread_key *key)
{
	return hash_mix(key->process, key->tid);
}

static bool is_taken(const struct perfetto_tracks *tracks, const struct hash_index *tids,
		     const struct thread_key *key)
{
	return hash_index_find(tids, hash_tid(key), is_tid, tracks, key) != HASH_INDEX_NONE;
}

/*
 * Programs may call threads by any number; readers before v55 take 31 bits. The kernel may give a
 * tid again; then it says when the thread began.
 */
static int choose_tids(struct perfetto_tracks *tracks)
{
	_cleanup_(hash_index_release) struct hash_index index = {0};
	uint32_t synthetic = FIRST_SYNTHETIC_ID;
	int err = 0;

	for (uint32_t i = 0; i < timeline_count_thread(tracks->timeline); i++) {
		const struct timeline_thread *thread = timeline_get_thread(tracks->timeline, i);
		struct thread_key key = {thread->process, (uint32_t)thread->tid & INT32_MAX};

		if (thread->start_ns)
			tracks->thread_took_over[i] = is_taken(tracks, &index, &key);
		else
			while (is_taken(tracks, &index, &key))
				key.tid = synthetic++ & INT32_MAX;
		tracks->tids[i] = key.tid;
		err = hash_index_add(&index, hash_tid(&key), i);
		if (err)
			return err;
	}
	return 0;
}

uint32_t perfetto_tracks_get_pid(const struct perfetto_tracks *tracks, uint32_t process)
{
	return tracks->pids[process];
}

uint32_t perfetto_tracks_get_tid(const struct perfetto_tracks *tracks, uint32_t thread)
{
	return tracks->tids[thread];
}

struct perfetto_tracks *perfetto_tracks_new(const struct timeline *timeline,
					    struct perfetto_stream *stream)
{
	struct perfetto_tracks *tracks = calloc(1, sizeof(*tracks));
	uint64_t num_processes = timeline_count_process(timeline);
	uint64_t num_threads = timeline_count_thread(timeline);

	if (!tracks)
		return NULL;
	tracks->timeline = timeline;
	tracks->stream = stream;
	tracks->first_thread_uuid = 1 + num_processes * UUIDS_OF_PROCESS;
	tracks->first_region_uuid = tracks->first_thread_uuid + num_threads * UUIDS_OF_THREAD;
	tracks->first_counter_uuid = tracks->first_region_uuid +
				     timeline_count_region(timeline) * (uint64_t)UUIDS_OF_REGION;
	tracks->pids = calloc(num_processes + 1, sizeof(*tracks->pids));
	tracks->ranks = calloc(num_processes + 1, sizeof(*tracks->ranks));
	tracks->tids = calloc(num_threads + 1, sizeof(*tracks->tids));
	tracks->took_over = calloc(num_processes + 1, sizeof(*tracks->took_over));
	tracks->thread_took_over = calloc(num_threads + 1, sizeof(*tracks->thread_took_over));
	if (!tracks->pids || !tracks->ranks || !tracks->tids || !tracks->took_over ||
	    !tracks->thread_took_over || choose_pids(tracks) || find_successors(tracks) ||
	    choose_tids(tracks)) {
		perfetto_tracks_free(tracks);
		return NULL;
	}
	return tracks;
}

void perfetto_tracks_free(struct perfetto_tracks *tracks)
{
	if (!tracks)
		return;
	free(tracks->pids);
	free(tracks->tids);
	free(tracks->ranks);
	free(tracks->took_over);
	free(tracks->thread_took_over);
	perfetto_emitted_release(&tracks->emitted);
	text_release(&tracks->name);
	text_release(&tracks->description);
	free(tracks);
}

/* ---- descriptors -------------------------------------------------------------------------- */

/*
 * A timeline's string as the format takes it; valid until the next call. Returns NULL when out of
 * memory; add_descriptor_at() looks at that.
 */
static char *fit_name(struct perfetto_tracks *tracks, uint32_t string)
{
	const struct string_table *strings = timeline_get_strings(tracks->timeline);

	text_truncate(&tracks->name, 0);
	text_append_string(&tracks->name, "");
	utf8_append_name(&tracks->name, string_table_get(strings, string),
			 string_table_get_length(strings, string));
	return tracks->name.data;
}

static char *set_name(struct perfetto_tracks *tracks, const char *name)
{
	text_truncate(&tracks->name, 0);
	text_append_string(&tracks->name, name);
	return tracks->name.data;
}

/* time_ns  0: it holds for the whole trace */
static int add_descriptor_at(struct perfetto_tracks *tracks, enum perfetto_sequence_id sequence,
			     uint64_t time_ns, Perfetto__TrackDescriptor *descriptor)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	if (tracks->name.failed || tracks->description.failed)
		return -ENOMEM;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = sequence;
	packet.has_timestamp = time_ns != 0;
	packet.timestamp = time_ns;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
	packet.track_descriptor = descriptor;
	descriptor->has_uuid = 1;
	return perfetto_stream_add(tracks->stream, &packet);
}

static int add_descriptor(struct perfetto_tracks *tracks, enum perfetto_sequence_id sequence,
			  Perfetto__TrackDescriptor *descriptor)
{
	return add_descriptor_at(tracks, sequence, 0, descriptor);
}

/* Whether the track is yet to be described; a uuid is a number of the table of what is emitted. */
static int begin_track(struct perfetto_tracks *tracks, uint64_t uuid, bool *ret_is_new)
{
	uint64_t number;

	return uuid < UINT32_MAX
		       ? perfetto_emitted_add(&tracks->emitted, (uint32_t)uuid, &number, ret_is_new)
		       : -ENOMEM;
}

/* From 1, since 0 is the uuid of no track. */
static uint64_t process_uuid(uint32_t process)
{
	return 1 + (uint64_t)process * UUIDS_OF_PROCESS;
}

static uint64_t thread_uuid(const struct perfetto_tracks *tracks, uint32_t thread)
{
	return tracks->first_thread_uuid + (uint64_t)thread * UUIDS_OF_THREAD;
}

static uint64_t region_uuid(const struct perfetto_tracks *tracks, uint32_t region)
{
	return tracks->first_region_uuid + (uint64_t)region * UUIDS_OF_REGION;
}

/* When a process, or a thread of it, came in the place of another one; 0: it did not. */
static uint64_t get_begin(const struct perfetto_tracks *tracks, uint32_t process)
{
	return tracks->took_over[process]
		       ? timeline_get_process(tracks->timeline, process)->start_ns
		       : 0;
}

/*
 * The thread that had the tid before is gone, with its process when it was the main thread: readers
 * would take the new one for the same.
 */
static int end_predecessor(struct perfetto_tracks *tracks, uint32_t tid, uint64_t start_ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__FtraceEventBundle bundle = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;
	Perfetto__FtraceEvent event = PERFETTO__FTRACE_EVENT__INIT;
	Perfetto__FtraceEvent *events[] = {&event};
	Perfetto__SchedProcessFree body = PERFETTO__SCHED_PROCESS_FREE__INIT;

	/* Readers sort by time, and not always by place in the file then. */
	event.has_timestamp = 1;
	event.timestamp = start_ns - 1;
	event.has_pid = 1;
	event.event_case = PERFETTO__FTRACE_EVENT__EVENT_SCHED_PROCESS_FREE;
	event.sched_process_free = &body;
	body.has_pid = 1;
	body.pid = (int32_t)tid;
	bundle.has_cpu = 1;
	bundle.n_event = ARRAY_LENGTH(events);
	bundle.event = events;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_SCHED;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS;
	packet.ftrace_events = &bundle;
	return perfetto_stream_add(tracks->stream, &packet);
}

/* A pid above INT32_MAX, which only an input can make up, becomes negative. */
static int describe_process(struct perfetto_tracks *tracks, uint32_t id)
{
	const struct timeline_process *process = timeline_get_process(tracks->timeline, id);
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor body = PERFETTO__PROCESS_DESCRIPTOR__INIT;

	if (tracks->took_over[id]) {
		int err = end_predecessor(tracks, tracks->pids[id], process->start_ns);

		if (err)
			return err;
	}
	body.has_pid = 1;
	body.pid = (int32_t)tracks->pids[id];
	body.process_name = fit_name(tracks, process->name);
	body.has_start_timestamp_ns = process->start_ns != 0;
	body.start_timestamp_ns = (int64_t)process->start_ns;
	descriptor.uuid = process_uuid(id);
	descriptor.process = &body;
	return add_descriptor_at(tracks, SEQUENCE_SYSTEM, get_begin(tracks, id), &descriptor);
}

static int describe_thread(struct perfetto_tracks *tracks, uint32_t id)
{
	const struct timeline_thread *thread = timeline_get_thread(tracks->timeline, id);
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor body = PERFETTO__THREAD_DESCRIPTOR__INIT;
	uint64_t begin_ns = get_begin(tracks, thread->process);

	if (tracks->thread_took_over[id]) {
		int err = end_predecessor(tracks, tracks->tids[id], thread->start_ns);

		if (err)
			return err;
		begin_ns = thread->start_ns;
	}
	body.has_pid = 1;
	body.pid = (int32_t)tracks->pids[thread->process];
	body.has_tid = 1;
	body.tid = tracks->tids[id];
	body.thread_name = fit_name(tracks, thread->name);
	descriptor.uuid = thread_uuid(tracks, id);
	descriptor.thread = &body;
	return add_descriptor_at(tracks, SEQUENCE_SYSTEM, begin_ns, &descriptor);
}

static bool is_late_thread(const struct perfetto_tracks *tracks, uint32_t thread)
{
	return tracks->thread_took_over[thread] ||
	       tracks->took_over[timeline_get_thread(tracks->timeline, thread)->process];
}

/* is_late  those that came in the place of others */
static int describe_owners(struct perfetto_tracks *tracks, bool is_late)
{
	int err = 0;

	for (uint32_t i = 0; i < timeline_count_process(tracks->timeline); i++) {
		if (tracks->took_over[i] == is_late)
			err = describe_process(tracks, i);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < timeline_count_thread(tracks->timeline); i++) {
		if (is_late_thread(tracks, i) == is_late)
			err = describe_thread(tracks, i);
		if (err)
			return err;
	}
	return 0;
}

/* To readers, a packet without time has that of the last one before it. */
int perfetto_tracks_describe_threads(struct perfetto_tracks *tracks)
{
	int err = describe_owners(tracks, false);

	if (err)
		return err;
	return describe_owners(tracks, true);
}

/*
 * Describe a track of our own under a parent. Equal names must not be merged: two regions may
 * have one name.
 *
 * rank  order among its siblings, from 1; 0: none
 * unit  of a counter; 0: no counter
 */
static int describe(struct perfetto_tracks *tracks, uint64_t uuid, uint64_t parent_uuid,
		    int32_t rank, int32_t unit)
{
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;

	descriptor.uuid = uuid;
	descriptor.has_parent_uuid = 1;
	descriptor.parent_uuid = parent_uuid;
	descriptor.name = tracks->name.data;
	descriptor.has_sibling_merge_behavior = 1;
	descriptor.sibling_merge_behavior = NEVER_MERGE;
	descriptor.has_sibling_order_rank = rank != 0;
	descriptor.sibling_order_rank = rank;
	counter.has_unit = 1;
	counter.unit = unit;
	descriptor.counter = unit ? &counter : NULL;
	return add_descriptor(tracks, SEQUENCE_EVENTS, &descriptor);
}

/* Like describe(), for a track whose children are ordered by rank. */
static int describe_group(struct perfetto_tracks *tracks, uint64_t uuid, uint64_t parent_uuid,
			  int32_t rank, char *description)
{
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;

	descriptor.uuid = uuid;
	descriptor.has_parent_uuid = 1;
	descriptor.parent_uuid = parent_uuid;
	descriptor.name = tracks->name.data;
	descriptor.description = description;
	descriptor.has_child_ordering = 1;
	descriptor.child_ordering = ORDER_BY_RANK;
	descriptor.has_sibling_merge_behavior = 1;
	descriptor.sibling_merge_behavior = NEVER_MERGE;
	descriptor.has_sibling_order_rank = rank != 0;
	descriptor.sibling_order_rank = rank;
	return add_descriptor(tracks, SEQUENCE_EVENTS, &descriptor);
}

/* The group "Stacks" of a process. */
static int use_group(struct perfetto_tracks *tracks, uint32_t process, uint64_t *ret)
{
	bool is_new;
	int err;

	*ret = process_uuid(process) + 1;
	err = begin_track(tracks, *ret, &is_new);
	if (err || !is_new)
		return err;
	set_name(tracks, "Stacks");
	return describe_group(tracks, *ret, process_uuid(process), 0, NULL);
}

/* The reader takes the bounds from here again (read_tracks.c). */
static char *describe_bounds(struct perfetto_tracks *tracks, const struct stack_region *region)
{
	text_truncate(&tracks->description, 0);
	text_printf(&tracks->description, "[0x%" PRIx64 ", 0x%" PRIx64 ")%s", region->begin,
		    region->end, region->kind == REGION_IMPLICIT ? ", guessed from pointers" : "");
	return tracks->description.data;
}

int perfetto_tracks_use_region(struct perfetto_tracks *tracks, uint32_t id, uint64_t *ret)
{
	const struct stack_region *region = timeline_get_region(tracks->timeline, id);
	uint64_t group;
	bool is_new;
	int err;

	*ret = region_uuid(tracks, id);
	err = begin_track(tracks, *ret, &is_new);
	if (err || !is_new)
		return err;
	err = use_group(tracks, region->process, &group);
	if (err)
		return err;
	fit_name(tracks, region->name);
	return describe_group(tracks, *ret, group, ++tracks->ranks[region->process],
			      describe_bounds(tracks, region));
}

/* A track below that of a region; its rank there tells it from the others. */
static int use_below_region(struct perfetto_tracks *tracks, uint32_t region, int32_t rank,
			    const char *name, int32_t unit, uint64_t *ret)
{
	uint64_t parent;
	bool is_new;
	int err;

	*ret = region_uuid(tracks, region) + (uint64_t)rank;
	err = begin_track(tracks, *ret, &is_new);
	if (err || !is_new)
		return err;
	err = perfetto_tracks_use_region(tracks, region, &parent);
	if (err)
		return err;
	set_name(tracks, name);
	return describe(tracks, *ret, parent, rank, unit);
}

int perfetto_tracks_use_zones(struct perfetto_tracks *tracks, uint32_t region, uint64_t *ret)
{
	return use_below_region(tracks, region, 1, "zones", 0, ret);
}

int perfetto_tracks_use_fill(struct perfetto_tracks *tracks, uint32_t region, uint64_t *ret)
{
	return use_below_region(tracks, region, 2, "fill", UNIT_BYTES, ret);
}

/* The thread itself was described before all events (perfetto_tracks_describe_threads()). */
int perfetto_tracks_use_thread_stack(struct perfetto_tracks *tracks, uint32_t thread, uint64_t *ret)
{
	bool is_new;
	int err;

	*ret = thread_uuid(tracks, thread) + 1;
	err = begin_track(tracks, *ret, &is_new);
	if (err || !is_new)
		return err;
	set_name(tracks, "stack in use");
	return describe(tracks, *ret, thread_uuid(tracks, thread), 0, 0);
}

int perfetto_tracks_use_counter(struct perfetto_tracks *tracks, uint32_t id, uint64_t *ret)
{
	const struct counter_track *track = timeline_get_counter_track(tracks->timeline, id);
	const char *unit = timeline_get_string(tracks->timeline, track->unit);
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	bool is_new;
	int err;

	*ret = tracks->first_counter_uuid + id;
	err = begin_track(tracks, *ret, &is_new);
	if (err || !is_new)
		return err;
	text_truncate(&tracks->description, 0);
	utf8_append_name(&tracks->description, *unit ? unit : "value",
			 strlen(*unit ? unit : "value"));
	counter.unit_name = tracks->description.data;
	descriptor.uuid = *ret;
	descriptor.has_parent_uuid = 1;
	descriptor.parent_uuid = process_uuid(track->process);
	descriptor.name = fit_name(tracks, track->name);
	descriptor.has_sibling_merge_behavior = 1;
	descriptor.sibling_merge_behavior = NEVER_MERGE;
	descriptor.counter = &counter;
	return add_descriptor(tracks, SEQUENCE_EVENTS, &descriptor);
}

/* Both counters or none: they change together. */
int perfetto_tracks_use_totals(struct perfetto_tracks *tracks, uint32_t process,
			       uint64_t *ret_number, uint64_t *ret_size)
{
	bool is_new;
	int err;

	*ret_number = process_uuid(process) + 2;
	*ret_size = process_uuid(process) + 3;
	err = begin_track(tracks, *ret_number, &is_new);
	if (err || !is_new)
		return err;
	set_name(tracks, "Number of stacks");
	err = describe(tracks, *ret_number, process_uuid(process), 0, UNIT_COUNT);
	if (err)
		return err;
	set_name(tracks, "Known stacks total size");
	return describe(tracks, *ret_size, process_uuid(process), 0, UNIT_BYTES);
}
