/*
 * Reading Perfetto traces: whose samples, slices and values these are.
 */
#include <errno.h>

#include "formats/perfetto_reader.h"

/* Tracks may name each other as parents, in a ring too. */
#define MAX_TRACK_DEPTH 16

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

int perfetto_compare_processes(const void *left, const void *right)
{
	const struct perfetto_process *a = left;
	const struct perfetto_process *b = right;
	int order = COMPARE(a->pid, b->pid);

	order = order ? order : COMPARE(a->since_ns, b->since_ns);
	return order ? order : COMPARE(a->order, b->order);
}

int perfetto_compare_threads(const void *left, const void *right)
{
	const struct perfetto_thread *a = left;
	const struct perfetto_thread *b = right;
	int order = COMPARE(a->pid, b->pid);

	order = order ? order : COMPARE(a->tid, b->tid);
	order = order ? order : COMPARE(a->since_ns, b->since_ns);
	return order ? order : COMPARE(a->order, b->order);
}

/* How many items sort before or with the key: the last of them counts at its time. */
#define FIND_PLACE(array, key, compare)                                    \
	({                                                                 \
		size_t low_ = 0;                                           \
		size_t high_ = (array)->length;                            \
                                                                           \
		while (low_ < high_) {                                     \
			size_t middle_ = low_ + (high_ - low_) / 2;        \
                                                                           \
			if (compare(&(array)->items[middle_], (key)) <= 0) \
				low_ = middle_ + 1;                        \
			else                                               \
				high_ = middle_;                           \
		}                                                          \
		low_;                                                      \
	})

/* ---- what nothing describes --------------------------------------------------------------- */

static bool is_unknown(const void *owner, uint32_t item, const void *key)
{
	const struct perfetto_unknown *a =
		&((const struct perfetto_reader *)owner)->unknown.items[item];
	const struct perfetto_unknown *b = key;

	return a->pid == b->pid && a->tid == b->tid && a->is_thread == b->is_thread;
}

static uint64_t hash_unknown(const struct perfetto_unknown *unknown)
{
	return hash_mix(hash_mix(unknown->is_thread, unknown->pid), unknown->tid);
}

static bool find_unknown(const struct perfetto_reader *reader,
			 const struct perfetto_unknown *wanted, uint32_t *ret)
{
	uint32_t found = hash_index_find(&reader->unknown_index, hash_unknown(wanted), is_unknown,
					 reader, wanted);

	if (found != HASH_INDEX_NONE)
		*ret = reader->unknown.items[found].item;
	return found != HASH_INDEX_NONE;
}

static int add_unknown(struct perfetto_reader *reader, const struct perfetto_unknown *unknown)
{
	struct perfetto_unknown *added = array_add(&reader->unknown);

	if (!added)
		return -ENOMEM;
	*added = *unknown;
	return hash_index_add(&reader->unknown_index, hash_unknown(unknown),
			      (uint32_t)(reader->unknown.length - 1));
}

/* ---- processes ---------------------------------------------------------------------------- */

static int use_process(struct perfetto_reader *reader, struct perfetto_process *known,
		       uint32_t *ret)
{
	struct timeline_process process = {
		.pid = known->pid < PERFETTO_MADE_UP_ID ? known->pid : 0,
		.name = known->name,
		.start_ns = known->start_ns,
	};
	int err = 0;

	if (known->process == TIMELINE_NONE)
		err = timeline_add_process(reader->timeline, &process, &known->process);
	*ret = known->process;
	return err;
}

static int find_process(struct perfetto_reader *reader, uint32_t pid, uint64_t time_ns,
			uint32_t *ret)
{
	struct perfetto_process key = {.pid = pid, .since_ns = time_ns, .order = UINT32_MAX};
	struct perfetto_unknown unknown = {.pid = pid};
	struct timeline_process process = {.pid = pid < PERFETTO_MADE_UP_ID ? pid : 0};
	size_t place = FIND_PLACE(&reader->processes, &key, perfetto_compare_processes);
	int err;

	if (place && reader->processes.items[place - 1].pid == pid)
		return use_process(reader, &reader->processes.items[place - 1], ret);
	if (place < reader->processes.length && reader->processes.items[place].pid == pid)
		return use_process(reader, &reader->processes.items[place], ret);
	if (find_unknown(reader, &unknown, ret))
		return 0;
	err = timeline_add_process(reader->timeline, &process, ret);
	unknown.item = *ret;
	return err ? err : add_unknown(reader, &unknown);
}

/* ---- threads ------------------------------------------------------------------------------ */

static int add_thread(struct perfetto_reader *reader, uint32_t process, uint32_t tid, uint32_t name,
		      uint32_t *ret)
{
	struct timeline_thread thread = {
		.process = process,
		.name = name,
		.tid = tid < PERFETTO_MADE_UP_ID ? tid : 0,
	};

	return timeline_add_thread(reader->timeline, &thread, ret);
}

/* A thread that no name is told of goes by that of its process. */
static int use_thread(struct perfetto_reader *reader, struct perfetto_thread *known,
		      uint64_t time_ns, uint32_t *ret)
{
	uint32_t name = known->name;
	uint32_t process;
	int err = 0;

	if (known->thread == TIMELINE_NONE) {
		err = find_process(reader, known->pid, time_ns, &process);
		if (!err && !known->has_name && name == STRING_EMPTY)
			name = timeline_get_process(reader->timeline, process)->name;
		if (!err)
			err = add_thread(reader, process, known->tid, name, &known->thread);
	}
	*ret = known->thread;
	return err;
}

static bool has_ids(const struct perfetto_reader *reader, size_t place, uint32_t pid, uint32_t tid)
{
	return place < reader->threads.length && reader->threads.items[place].pid == pid &&
	       reader->threads.items[place].tid == tid;
}

int perfetto_find_thread(struct perfetto_reader *reader, uint32_t pid, uint32_t tid,
			 uint64_t time_ns, uint32_t *ret)
{
	struct perfetto_thread key = {
		.pid = pid, .tid = tid, .since_ns = time_ns, .order = UINT32_MAX};
	struct perfetto_unknown unknown = {.pid = pid, .tid = tid, .is_thread = true};
	size_t place = FIND_PLACE(&reader->threads, &key, perfetto_compare_threads);
	uint32_t process;
	int err;

	if (place && has_ids(reader, place - 1, pid, tid))
		return use_thread(reader, &reader->threads.items[place - 1], time_ns, ret);
	if (has_ids(reader, place, pid, tid))
		return use_thread(reader, &reader->threads.items[place], time_ns, ret);
	if (find_unknown(reader, &unknown, ret))
		return 0;
	err = find_process(reader, pid, time_ns, &process);
	if (!err)
		err = add_thread(reader, process, tid,
				 timeline_get_process(reader->timeline, process)->name, ret);
	unknown.item = *ret;
	return err ? err : add_unknown(reader, &unknown);
}

/* Threads of which nothing else is told are part of the timeline, too. */
int perfetto_use_described(struct perfetto_reader *reader)
{
	uint32_t ignored;
	int err = 0;

	for (size_t i = 0; !err && i < reader->tracks.length; i++) {
		const struct perfetto_track *track = &reader->tracks.items[i];

		if (track->process != PERFETTO_NONE)
			err = use_process(reader, &reader->processes.items[track->process],
					  &ignored);
		if (!err && track->thread != PERFETTO_NONE)
			err = use_thread(reader, &reader->threads.items[track->thread],
					 reader->threads.items[track->thread].since_ns, &ignored);
	}
	return err;
}

/* ---- tracks ------------------------------------------------------------------------------- */

/* The process or thread at the top of the track's branch; else what is topmost. */
static const struct perfetto_track *find_top(const struct perfetto_reader *reader,
					     const struct perfetto_track *track)
{
	for (unsigned int depth = 0; depth < MAX_TRACK_DEPTH; depth++) {
		const struct perfetto_track *parent = perfetto_get_parent(reader, track);

		if (!parent)
			break;
		track = parent;
	}
	return track;
}

int perfetto_find_process_of(struct perfetto_reader *reader, const struct perfetto_track *track,
			     uint32_t *ret)
{
	const struct perfetto_track *top = find_top(reader, track);
	const struct perfetto_thread *thread;

	if (top->process != PERFETTO_NONE)
		return use_process(reader, &reader->processes.items[top->process], ret);
	if (top->thread == PERFETTO_NONE)
		return find_process(reader, 0, 0, ret);
	thread = &reader->threads.items[top->thread];
	return find_process(reader, thread->pid, thread->since_ns, ret);
}

uint32_t perfetto_get_pid_of(const struct perfetto_reader *reader,
			     const struct perfetto_track *track)
{
	const struct perfetto_track *top = find_top(reader, track);

	if (top->process != PERFETTO_NONE)
		return reader->processes.items[top->process].pid;
	return top->thread == PERFETTO_NONE ? 0 : reader->threads.items[top->thread].pid;
}

/* Slices of no thread are of one that has the name of their track, or of their region. */
int perfetto_find_owner(struct perfetto_reader *reader, struct perfetto_track *track, uint32_t *ret)
{
	const struct perfetto_track *top = find_top(reader, track);
	const struct perfetto_track *named =
		track->role == PERFETTO_ZONES ? perfetto_get_parent(reader, track) : track;
	uint32_t process;
	int err;

	if (track->owner != TIMELINE_NONE) {
		*ret = track->owner;
		return 0;
	}
	if (top->thread != PERFETTO_NONE) {
		struct perfetto_thread *thread = &reader->threads.items[top->thread];

		err = use_thread(reader, thread, thread->since_ns, ret);
	} else {
		err = perfetto_find_process_of(reader, track, &process);
		if (!err)
			err = add_thread(reader, process, 0, named->name, ret);
	}
	track->owner = err ? TIMELINE_NONE : *ret;
	return err;
}

/* ---- the profile -------------------------------------------------------------------------- */

/* The number that an item of the timeline has in the profile, plus one; 0: none yet. */
static uint32_t *get_slot(void *items, size_t *length, size_t *capacity, uint32_t item)
{
	uint32_t **slots = items;

	if (item >= *length) {
		if (array_reserve_bytes(items, capacity, (size_t)item + 1, sizeof(**slots)))
			return NULL;
		memset(*slots + *length, 0, ((size_t)item + 1 - *length) * sizeof(**slots));
		*length = (size_t)item + 1;
	}
	return &(*slots)[item];
}

#define GET_SLOT(array, item) get_slot(&(array).items, &(array).length, &(array).capacity, (item))

static int copy_string(const struct perfetto_reader *reader, uint32_t string, uint32_t *ret)
{
	const struct string_table *strings = timeline_get_strings(reader->timeline);

	return string_table_add(profile_get_strings(reader->import->profile),
				string_table_get(strings, string),
				string_table_get_length(strings, string), ret);
}

static int get_profile_process(struct perfetto_reader *reader, uint32_t id, uint32_t *ret)
{
	const struct timeline_process *process = timeline_get_process(reader->timeline, id);
	uint32_t *slot = GET_SLOT(reader->profile_processes, id);
	uint32_t comm;
	int err = slot ? 0 : -ENOMEM;

	if (!err && !*slot) {
		err = copy_string(reader, process->name, &comm);
		if (!err)
			err = profile_add_process(reader->import->profile, process->pid, comm,
						  slot);
		*slot += !err;
	}
	if (!err)
		*ret = *slot - 1;
	return err;
}

int perfetto_get_profile_thread(struct perfetto_reader *reader, uint32_t id, uint32_t *ret)
{
	const struct timeline_thread *info = timeline_get_thread(reader->timeline, id);
	struct thread thread = {.tid = (uint32_t)info->tid, .source = reader->import->source};
	uint32_t *slot = GET_SLOT(reader->profile_threads, id);
	int err = slot ? 0 : -ENOMEM;

	if (!err && !*slot) {
		err = copy_string(reader, info->name, &thread.comm);
		if (!err)
			err = get_profile_process(reader, info->process, &thread.process);
		if (!err)
			err = profile_add_thread(reader->import->profile, &thread, slot);
		*slot += !err;
	}
	if (!err)
		*ret = *slot - 1;
	return err;
}
