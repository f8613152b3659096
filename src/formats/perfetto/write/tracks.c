#include "formats/perfetto/write/tracks.h"

#include <errno.h>
#include <inttypes.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "formats/perfetto/waits.h"
#include "formats/perfetto/write/earlier_names.h"
#include "formats/perfetto/write/groups.h"

/* Values of the format; see perfetto.proto. */
#define ORDER_BY_RANK 3
#define NEVER_MERGE   2
#define UNIT_COUNT    2
#define UNIT_BYTES    3

/* For processes whose pid is in no input, and for threads; above every pid of Linux. */
#define FIRST_SYNTHETIC_ID 2000000000u

/* uuids are small numbers, one block a kind: process, region and so on. */
#define UUIDS_OF_PROCESS 4u /* itself, Stacks, the two counters of regions in use */
#define UUIDS_OF_THREAD  3u /* itself, stack in use, waits */
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
	uint64_t first_group_uuid;
	uint64_t start_ns; /* of the trace; 0: unknown */
	uint32_t first_group_pid;
	struct perfetto_groups *groups; /* NULL: no grouping */
	uint32_t *pids;                 /* by process */
	uint32_t *by_pid;               /* processes in order of pid and start */
	uint32_t *tids;                 /* by thread */
	bool *took_over;                /* by process: its pid was another one's before */
	bool *thread_took_over; /* by thread: its tid was another one's of the process before */
	int32_t *ranks;         /* by process: of its region that was used last */
	struct perfetto_emitted emitted; /* tracks that are described, by uuid */
	struct perfetto_earlier_names earlier_names;
	struct text name;
	struct text description;
	struct text command_line;
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
	tracks->first_group_pid = synthetic;
	return 0;
}

/*
 * An exec and a reused pid give a pid another process from then on: the description of that one
 * must carry its time, or readers would take the one described last for all of them.
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

static int compare_starts(const void *a, const void *b, void *context)
{
	const struct perfetto_tracks *tracks = context;
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;
	uint64_t left_ns = timeline_get_process(tracks->timeline, left)->start_ns;
	uint64_t right_ns = timeline_get_process(tracks->timeline, right)->start_ns;

	if (tracks->pids[left] != tracks->pids[right])
		return tracks->pids[left] < tracks->pids[right] ? -1 : 1;
	if (left_ns != right_ns)
		return left_ns < right_ns ? -1 : 1;
	return (left > right) - (left < right);
}

static void sort_by_pid(struct perfetto_tracks *tracks)
{
	uint32_t count = timeline_count_process(tracks->timeline);

	for (uint32_t i = 0; i < count; i++)
		tracks->by_pid[i] = i;
	qsort_r(tracks->by_pid, count, sizeof(*tracks->by_pid), compare_starts, tracks);
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
 * Programs may use any numbers for threads; readers before v55 take 31 bits. The kernel may give a
 * tid again; then the start of the thread tells them apart.
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

static uint32_t find_group(const struct perfetto_tracks *tracks, uint32_t process)
{
	return tracks->groups ? perfetto_groups_find(tracks->groups, process) : TIMELINE_NONE;
}

bool perfetto_tracks_is_grouped(const struct perfetto_tracks *tracks, uint32_t process)
{
	return find_group(tracks, process) != TIMELINE_NONE;
}

uint32_t perfetto_tracks_get_pid(const struct perfetto_tracks *tracks, uint32_t process)
{
	uint32_t group = find_group(tracks, process);

	return group == TIMELINE_NONE ? tracks->pids[process] : tracks->first_group_pid + group;
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
	tracks->first_group_uuid =
		tracks->first_counter_uuid + timeline_count_counter_track(timeline);
	if (timeline_count_clock(timeline))
		tracks->start_ns = timeline_get_clock(timeline, 0)->boottime_ns;
	tracks->pids = calloc(num_processes + 1, sizeof(*tracks->pids));
	tracks->by_pid = calloc(num_processes + 1, sizeof(*tracks->by_pid));
	tracks->ranks = calloc(num_processes + 1, sizeof(*tracks->ranks));
	tracks->tids = calloc(num_threads + 1, sizeof(*tracks->tids));
	tracks->took_over = calloc(num_processes + 1, sizeof(*tracks->took_over));
	tracks->thread_took_over = calloc(num_threads + 1, sizeof(*tracks->thread_took_over));
	if (!tracks->pids || !tracks->by_pid || !tracks->ranks || !tracks->tids ||
	    !tracks->took_over || !tracks->thread_took_over || choose_pids(tracks) ||
	    find_successors(tracks) || choose_tids(tracks) ||
	    perfetto_earlier_names_init(&tracks->earlier_names, timeline)) {
		perfetto_tracks_free(tracks);
		return NULL;
	}
	sort_by_pid(tracks);
	return tracks;
}

void perfetto_tracks_free(struct perfetto_tracks *tracks)
{
	if (!tracks)
		return;
	free(tracks->pids);
	free(tracks->by_pid);
	perfetto_groups_free(tracks->groups);
	free(tracks->tids);
	free(tracks->ranks);
	free(tracks->took_over);
	free(tracks->thread_took_over);
	perfetto_emitted_release(&tracks->emitted);
	perfetto_earlier_names_release(&tracks->earlier_names);
	text_release(&tracks->name);
	text_release(&tracks->description);
	text_release(&tracks->command_line);
	free(tracks);
}

/* ---- descriptors -------------------------------------------------------------------------- */

/*
 * A timeline's string as the format takes it; valid until the text is used again. Returns NULL when
 * out of memory; add_descriptor_at() looks at that.
 */
static char *fit(const struct perfetto_tracks *tracks, uint32_t string, struct text *text)
{
	const struct string_table *strings = timeline_get_strings(tracks->timeline);

	text_truncate(text, 0);
	text_append_string(text, "");
	utf8_append_name(text, string_table_get(strings, string),
			 string_table_get_length(strings, string));
	return text->data;
}

static char *fit_name(struct perfetto_tracks *tracks, uint32_t string)
{
	return fit(tracks, string, &tracks->name);
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

/* Whether the track is not described yet; uuids are numbers in the table of emitted items. */
static int start_track(struct perfetto_tracks *tracks, uint64_t uuid, bool *ret_is_new)
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

/*
 * The time from when on the description of a process holds; 0: always. Pids mean another process
 * before, or their parent may have become another one by an exec.
 */
static uint64_t get_start(const struct perfetto_tracks *tracks, uint32_t process)
{
	uint64_t start_ns = timeline_get_process(tracks->timeline, process)->start_ns;

	return tracks->took_over[process] || (tracks->start_ns && start_ns > tracks->start_ns)
		       ? start_ns
		       : 0;
}

/* The last process that got the pid by a time; TIMELINE_NONE if none did. */
static uint32_t find_last(const struct perfetto_tracks *tracks, uint32_t pid, uint64_t time_ns)
{
	uint32_t low = 0;
	uint32_t high = timeline_count_process(tracks->timeline);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t process = tracks->by_pid[middle];

		if (tracks->pids[process] < pid ||
		    (tracks->pids[process] == pid && get_start(tracks, process) <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && tracks->pids[tracks->by_pid[low - 1]] == pid ? tracks->by_pid[low - 1]
								   : TIMELINE_NONE;
}

/*
 * A thread is gone, with its process when it is the main thread: a later one with that tid is another
 * one to readers, too.
 */
static int end_thread(struct perfetto_tracks *tracks, uint32_t tid, uint64_t time_ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__FtraceEventBundle bundle = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;
	Perfetto__FtraceEvent event = PERFETTO__FTRACE_EVENT__INIT;
	Perfetto__FtraceEvent *events[] = {&event};
	Perfetto__SchedProcessFree body = PERFETTO__SCHED_PROCESS_FREE__INIT;

	event.has_timestamp = 1;
	event.timestamp = time_ns;
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

/* Readers sort by time, and then not always by place in the file. */
static int end_predecessor(struct perfetto_tracks *tracks, uint32_t tid, uint64_t start_ns)
{
	return end_thread(tracks, tid, start_ns - 1);
}

/* Whether the process before this one with the pid has a known end, which is emitted by itself. */
static bool has_predecessor_ended(const struct perfetto_tracks *tracks, uint32_t process)
{
	uint64_t start_ns = timeline_get_process(tracks->timeline, process)->start_ns;
	uint32_t before = find_last(tracks, tracks->pids[process], start_ns - 1);
	uint64_t end_ns = before == TIMELINE_NONE
				  ? 0
				  : timeline_get_process(tracks->timeline, before)->end_ns;

	return end_ns && end_ns < start_ns;
}

/* Whether the next process with the pid has it by the end of this one, and so ended it for readers. */
static bool is_ended_by_next(const struct perfetto_tracks *tracks, uint32_t process)
{
	uint64_t end_ns = timeline_get_process(tracks->timeline, process)->end_ns;
	uint32_t next = find_last(tracks, tracks->pids[process], end_ns);

	return next != TIMELINE_NONE && next != process && tracks->took_over[next] &&
	       timeline_get_process(tracks->timeline, next)->start_ns >
		       timeline_get_process(tracks->timeline, process)->start_ns;
}

static int end_process(struct perfetto_tracks *tracks, uint32_t id)
{
	uint64_t end_ns = timeline_get_process(tracks->timeline, id)->end_ns;

	if (!end_ns || is_ended_by_next(tracks, id))
		return 0;
	return end_thread(tracks, tracks->pids[id], end_ns);
}

static uint32_t find_parent(const struct perfetto_tracks *tracks, uint32_t id)
{
	return find_last(tracks, timeline_get_process(tracks->timeline, id)->parent_pid,
			 get_start(tracks, id));
}

/*
 * The parent as readers find it, by its pid at the time. If it has ended by then, it would be a new
 * process to them: it is left out.
 */
static uint32_t get_parent_pid(const struct perfetto_tracks *tracks, uint32_t id)
{
	uint32_t parent = find_parent(tracks, id);
	uint64_t end_ns;

	if (parent == TIMELINE_NONE)
		return timeline_get_process(tracks->timeline, id)->parent_pid;
	end_ns = timeline_get_process(tracks->timeline, parent)->end_ns;
	return end_ns && end_ns <= get_start(tracks, id) ? 0
							 : perfetto_tracks_get_pid(tracks, parent);
}

/* As readers call a process by its command line: the first word. */
static bool is_first_word(const char *command_line, const char *name)
{
	size_t length = strcspn(command_line, " ");

	return strlen(name) == length && memcmp(command_line, name, length) == 0;
}

/*
 * Parent, user and command line, which readers take from nowhere else. They call the process by its
 * command line then, and by the kernel's name only after a change of it: those that set a title
 * would all have one name, and the others a path.
 *
 * Without a command line, as with the kernel's own threads, the name goes for it, as otherwise
 * nothing of it would be read.
 */
static int describe_in_tree(struct perfetto_tracks *tracks, uint32_t id, char *command_line)
{
	const struct timeline_process *process = timeline_get_process(tracks->timeline, id);
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__ProcessTree__Process body = PERFETTO__PROCESS_TREE__PROCESS__INIT;
	Perfetto__ProcessTree__Process *bodies[] = {&body};
	Perfetto__GenericKernelTaskRenameEvent rename =
		PERFETTO__GENERIC_KERNEL_TASK_RENAME_EVENT__INIT;
	char *name = fit_name(tracks, process->name);
	char *cmdline = command_line ? command_line : name;
	uint64_t start_ns = get_start(tracks, id);
	int err;

	if (tracks->name.failed || tracks->command_line.failed)
		return -ENOMEM;
	body.has_pid = 1;
	body.pid = (int32_t)tracks->pids[id];
	body.has_ppid = 1;
	body.ppid = (int32_t)get_parent_pid(tracks, id);
	body.n_cmdline = 1;
	body.cmdline = &cmdline;
	body.has_uid = process->has_uid;
	body.uid = (int32_t)process->uid;
	body.has_is_described = 1;
	body.is_described = 1;
	tree.n_processes = ARRAY_LENGTH(bodies);
	tree.processes = bodies;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_SYSTEM;
	packet.has_timestamp = start_ns != 0;
	packet.timestamp = start_ns;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PROCESS_TREE;
	packet.process_tree = &tree;
	err = perfetto_stream_add(tracks->stream, &packet);
	if (err || is_first_word(cmdline, name))
		return err;
	rename.has_tid = 1;
	rename.tid = tracks->pids[id];
	rename.comm = name;
	rename.has_is_described = 1;
	rename.is_described = 1;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_GENERIC_KERNEL_TASK_RENAME_EVENT;
	packet.generic_kernel_task_rename_event = &rename;
	return perfetto_stream_add(tracks->stream, &packet);
}

/* All but its number; the command line is the caller's. A pid above INT32_MAX becomes negative. */
static void fill_process(struct perfetto_tracks *tracks, uint32_t id, char **command_line,
			 Perfetto__ProcessDescriptor *body)
{
	const struct timeline_process *process = timeline_get_process(tracks->timeline, id);

	body->has_pid = 1;
	body->pid = (int32_t)tracks->pids[id];
	body->n_cmdline = *command_line != NULL;
	body->cmdline = command_line;
	body->process_name = fit_name(tracks, process->name);
	body->has_start_timestamp_ns = process->start_ns != 0;
	body->start_timestamp_ns = (int64_t)process->start_ns;
	body->has_parent_pid = process->parent_pid != 0;
	body->parent_pid = process->parent_pid;
	body->has_uid = process->has_uid;
	body->uid = process->uid;
	body->has_end_timestamp_ns = process->end_ns != 0;
	body->end_timestamp_ns = process->end_ns;
}

/* Other readers see no process here, but ours does. */
static int keep_grouped(struct perfetto_tracks *tracks, Perfetto__ProcessDescriptor *body)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	if (tracks->name.failed || tracks->command_line.failed)
		return -ENOMEM;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_SYSTEM;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_GROUPED_PROCESS;
	packet.grouped_process = body;
	return perfetto_stream_add(tracks->stream, &packet);
}

static int describe_process(struct perfetto_tracks *tracks, uint32_t id)
{
	const struct timeline_process *process = timeline_get_process(tracks->timeline, id);
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor body = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	char *command_line = NULL;
	int err;

	if (tracks->took_over[id] && !has_predecessor_ended(tracks, id)) {
		err = end_predecessor(tracks, tracks->pids[id], process->start_ns);
		if (err)
			return err;
	}
	if (process->command_line != STRING_EMPTY)
		command_line = fit(tracks, process->command_line, &tracks->command_line);
	if (perfetto_tracks_is_grouped(tracks, id)) {
		fill_process(tracks, id, &command_line, &body);
		return keep_grouped(tracks, &body);
	}
	if (process->parent_pid || process->has_uid || command_line) {
		err = describe_in_tree(tracks, id, command_line);
		if (err)
			return err;
	}
	fill_process(tracks, id, &command_line, &body);
	descriptor.uuid = process_uuid(id);
	descriptor.process = &body;
	err = add_descriptor_at(tracks, SEQUENCE_SYSTEM, get_start(tracks, id), &descriptor);
	return err ? err : end_process(tracks, id);
}

/* A process to readers: the place of the threads of many short ones. */
static int describe_group_of_processes(struct perfetto_tracks *tracks, uint32_t number)
{
	const struct perfetto_group *group = perfetto_groups_get(tracks->groups, number);
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor body = PERFETTO__PROCESS_DESCRIPTOR__INIT;

	text_truncate(&tracks->description, 0);
	if (group->ancestor == TIMELINE_NONE)
		text_append_string(&tracks->description, "short-lived processes");
	else
		text_printf(
			&tracks->description, "short-lived children of %s",
			fit_name(tracks,
				 timeline_get_process(tracks->timeline, group->ancestor)->name));
	if (tracks->description.failed)
		return -ENOMEM;
	set_name(tracks, tracks->description.data);
	text_truncate(&tracks->description, 0);
	text_printf(&tracks->description, "%u processes with no more than two samples each",
		    group->num_processes);
	body.has_pid = 1;
	body.pid = (int32_t)(tracks->first_group_pid + number);
	body.process_name = tracks->name.data;
	body.has_is_group = 1;
	body.is_group = 1;
	descriptor.uuid = tracks->first_group_uuid + number;
	descriptor.description = tracks->description.data;
	descriptor.process = &body;
	return add_descriptor(tracks, SEQUENCE_SYSTEM, &descriptor);
}

static int describe_thread(struct perfetto_tracks *tracks, uint32_t id)
{
	const struct timeline_thread *thread = timeline_get_thread(tracks->timeline, id);
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor body = PERFETTO__THREAD_DESCRIPTOR__INIT;
	uint64_t start_ns = get_start(tracks, thread->process);
	int err;

	if (tracks->thread_took_over[id]) {
		err = end_predecessor(tracks, tracks->tids[id], thread->start_ns);
		if (err)
			return err;
		start_ns = thread->start_ns;
	}
	body.has_pid = 1;
	body.pid = (int32_t)perfetto_tracks_get_pid(tracks, thread->process);
	body.has_tid = 1;
	body.tid = tracks->tids[id];
	body.thread_name = fit_name(tracks, thread->name);
	body.has_grouped_pid = perfetto_tracks_is_grouped(tracks, thread->process);
	body.grouped_pid = tracks->pids[thread->process];
	err = perfetto_earlier_names_fill(&tracks->earlier_names, id, &body);
	if (err)
		return err;
	descriptor.uuid = thread_uuid(tracks, id);
	descriptor.thread = &body;
	err = add_descriptor_at(tracks, SEQUENCE_SYSTEM, start_ns, &descriptor);
	/* The end of a process is that of its threads; that of a group is not. */
	if (err || !body.has_grouped_pid)
		return err;
	return end_thread(tracks, tracks->tids[id],
			  timeline_get_process(tracks->timeline, thread->process)->end_ns);
}

static bool is_late_process(const struct perfetto_tracks *tracks, uint32_t process)
{
	return get_start(tracks, process) != 0;
}

static bool is_late_thread(const struct perfetto_tracks *tracks, uint32_t thread)
{
	return tracks->thread_took_over[thread] ||
	       is_late_process(tracks, timeline_get_thread(tracks->timeline, thread)->process);
}

/* is_late  those that have a time */
static int describe_owners(struct perfetto_tracks *tracks, bool is_late)
{
	int err = 0;

	for (uint32_t i = 0; i < timeline_count_process(tracks->timeline); i++) {
		if (is_late_process(tracks, i) == is_late)
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
	uint32_t num_groups = tracks->groups ? perfetto_groups_count(tracks->groups) : 0;
	int err;

	for (uint32_t i = 0; i < num_groups; i++) {
		err = describe_group_of_processes(tracks, i);
		if (err)
			return err;
	}
	err = describe_owners(tracks, false);
	if (err)
		return err;
	return describe_owners(tracks, true);
}

int perfetto_tracks_group(struct perfetto_tracks *tracks)
{
	uint32_t count = timeline_count_process(tracks->timeline);
	_cleanup_free_ uint32_t *parents = calloc((size_t)count + 1, sizeof(*parents));
	struct perfetto_groups_opts opts = {
		.start_ns = tracks->start_ns, .parents = parents, .order = tracks->by_pid};

	if (!parents)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		parents[i] = find_parent(tracks, i);
	return perfetto_groups_new(tracks->timeline, &opts, &tracks->groups);
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
	err = start_track(tracks, *ret, &is_new);
	if (err || !is_new)
		return err;
	set_name(tracks, "Stacks");
	return describe_group(tracks, *ret, process_uuid(process), 0, NULL);
}

/* The reader takes the bounds from here again (read/tracks.c). */
static char *describe_bounds(struct perfetto_tracks *tracks, const struct stack_region *region)
{
	text_truncate(&tracks->description, 0);
	text_printf(&tracks->description, "[0x%" PRIx64 ", 0x%" PRIx64 ")%s", region->start,
		    region->end,
		    region->kind == REGION_IMPLICIT  ? ", guessed from pointers"
		    : region->kind == REGION_PARTIAL ? ", at least"
						     : "");
	return tracks->description.data;
}

int perfetto_tracks_use_region(struct perfetto_tracks *tracks, uint32_t id, uint64_t *ret)
{
	const struct stack_region *region = timeline_get_region(tracks->timeline, id);
	uint64_t group;
	int32_t rank;
	bool is_new;
	int err;

	*ret = region_uuid(tracks, id);
	err = start_track(tracks, *ret, &is_new);
	if (err || !is_new)
		return err;
	err = use_group(tracks, region->process, &group);
	if (err)
		return err;
	rank = tracks->groups ? perfetto_groups_get_rank(tracks->groups, id) : 0;
	if (!rank)
		rank = ++tracks->ranks[region->process];
	fit_name(tracks, region->name);
	return describe_group(tracks, *ret, group, rank, describe_bounds(tracks, region));
}

/* A track below that of a region; its rank there distinguishes it from the others. */
static int use_below_region(struct perfetto_tracks *tracks, uint32_t region, int32_t rank,
			    const char *name, int32_t unit, uint64_t *ret)
{
	uint64_t parent;
	bool is_new;
	int err;

	*ret = region_uuid(tracks, region) + (uint64_t)rank;
	err = start_track(tracks, *ret, &is_new);
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

/*
 * A track below that of a thread. The thread itself was described before all events
 * (perfetto_tracks_describe_threads()).
 */
static int use_below_thread(struct perfetto_tracks *tracks, uint32_t thread, uint64_t number,
			    const char *name, uint64_t *ret)
{
	bool is_new;
	int err;

	*ret = thread_uuid(tracks, thread) + number;
	err = start_track(tracks, *ret, &is_new);
	if (err || !is_new)
		return err;
	set_name(tracks, name);
	return describe(tracks, *ret, thread_uuid(tracks, thread), 0, 0);
}

int perfetto_tracks_use_thread_stack(struct perfetto_tracks *tracks, uint32_t thread, uint64_t *ret)
{
	return use_below_thread(tracks, thread, 1, "stack in use", ret);
}

int perfetto_tracks_use_waits(struct perfetto_tracks *tracks, uint32_t thread, uint64_t *ret)
{
	return use_below_thread(tracks, thread, 2, PERFETTO_WAITS_TRACK, ret);
}

uint64_t perfetto_tracks_get_thread(const struct perfetto_tracks *tracks, uint32_t thread)
{
	return thread_uuid(tracks, thread);
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
	err = start_track(tracks, *ret, &is_new);
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
	err = start_track(tracks, *ret_number, &is_new);
	if (err || !is_new)
		return err;
	set_name(tracks, "Number of stacks");
	err = describe(tracks, *ret_number, process_uuid(process), 0, UNIT_COUNT);
	if (err)
		return err;
	set_name(tracks, "Known stacks total size");
	return describe(tracks, *ret_size, process_uuid(process), 0, UNIT_BYTES);
}
