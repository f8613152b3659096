/*
 * Reading Perfetto traces: processes and threads.
 *
 * A pid or tid may be described several times: an exec or a reused id gives it a new process.
 * Each descriptor counts from the time of its packet on. So descriptors are collected first, then
 * sorted by id and time, and an event finds its process by bisection with its own time. An event
 * before the first descriptor belongs to that one; ids that nothing describes get a process or
 * thread of their own.
 *
 * Processes and threads go into the timeline at their first use, and from there into the profile.
 */
#include "formats/perfetto/read/threads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/script_name.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

/* ---- descriptors -------------------------------------------------------------------------- */

static int describe_process(struct perfetto_threads *threads,
			    const struct perfetto_process *process, uint32_t *ret)
{
	struct perfetto_process *added;

	*ret = PERFETTO_NONE;
	if (!perfetto_has_room(threads->trace, threads->processes.length, 16))
		return 0;
	added = array_add(&threads->processes);
	if (!added)
		return -ENOMEM;
	*added = *process;
	added->process = TIMELINE_NONE;
	*ret = added->order = (uint32_t)(threads->processes.length - 1);
	return 0;
}

static int describe_thread(struct perfetto_threads *threads, const struct perfetto_thread *thread,
			   uint32_t *ret)
{
	struct perfetto_thread *added;

	*ret = PERFETTO_NONE;
	if (!perfetto_has_room(threads->trace, threads->items.length, 16))
		return 0;
	added = array_add(&threads->items);
	if (!added)
		return -ENOMEM;
	*added = *thread;
	added->thread = TIMELINE_NONE;
	*ret = added->order = (uint32_t)(threads->items.length - 1);
	return 0;
}

/* The base name of a command line's first word. */
static int add_base_name(struct perfetto_threads *threads, struct bytes path, uint32_t *ret)
{
	size_t start = path.size;

	while (start && path.data[start - 1] != '/')
		start--;
	return perfetto_add_string(threads->trace, bytes_of(path.data + start, path.size - start),
				   ret);
}

/* Words with blanks between them; ours are one string. */
static int add_command_line(struct perfetto_threads *threads, const struct text *words,
			    uint32_t *ret)
{
	if (words->failed)
		return -ENOMEM;
	return words->length ? perfetto_add_string(threads->trace,
						   bytes_of(words->data, words->length), ret)
			     : 0;
}

static void append_word(struct text *words, struct bytes word)
{
	if (words->length)
		text_append_char(words, ' ');
	text_append(words, (const char *)word.data, word.size);
}

static int read_process(struct perfetto_threads *threads, struct bytes message,
			struct perfetto_process *ret)
{
	struct perfetto_process process = {0};
	_cleanup_(text_release) struct text words = {0};
	struct protobuf_field field;
	bool has_name = false;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT) {
			process.pid = (uint32_t)field.value;
		} else if (field.number == 7 && field.type == PROTOBUF_VARINT) {
			process.start_ns = field.value;
		} else if (field.number == 1000 && field.type == PROTOBUF_VARINT) {
			process.parent_pid = (uint32_t)field.value;
		} else if (field.number == 1001 && field.type == PROTOBUF_VARINT) {
			process.uid = (uint32_t)field.value;
			process.has_uid = true;
		} else if (field.number == 1002 && field.type == PROTOBUF_VARINT) {
			process.end_ns = field.value;
		} else if (field.number == 1003 && field.type == PROTOBUF_VARINT) {
			process.is_group = field.value != 0;
		} else if (field.number == 2 && field.type == PROTOBUF_BYTES) {
			append_word(&words, field.body);
			if (!process.name)
				err = add_base_name(threads, field.body, &process.name);
		} else if (field.number == 6 && field.type == PROTOBUF_BYTES && !has_name) {
			err = perfetto_add_string(threads->trace, field.body, &process.name);
			has_name = true;
		}
		if (err)
			return err;
	}
	err = add_command_line(threads, &words, &process.command_line);
	*ret = process;
	return err;
}

int perfetto_threads_read_process(struct perfetto_threads *threads, struct bytes message,
				  uint64_t since_ns, uint32_t *ret)
{
	struct perfetto_process process;
	int err = read_process(threads, message, &process);

	process.since_ns = since_ns;
	return err ? err : describe_process(threads, &process, ret);
}

int perfetto_threads_read_grouped(struct perfetto_threads *threads, struct bytes message)
{
	struct perfetto_process process;
	uint32_t ignored;
	int err = read_process(threads, message, &process);

	process.since_ns = process.start_ns;
	process.is_grouped = true;
	return err ? err : describe_process(threads, &process, &ignored);
}

static int read_earlier_name(struct perfetto_threads *threads, struct bytes message,
			     struct perfetto_thread *thread)
{
	struct perfetto_earlier_name name = {0};
	struct perfetto_earlier_name *added;
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(threads->trace, field.body, &name.name);
		else if (field.number == 2 && field.type == PROTOBUF_VARINT)
			name.until_ns = field.value;
	}
	if (err || !perfetto_has_room(threads->trace, threads->earlier_names.length, 4))
		return err;
	if (!thread->num_names)
		thread->first_name = (uint32_t)threads->earlier_names.length;
	added = array_add(&threads->earlier_names);
	if (!added)
		return -ENOMEM;
	*added = name;
	thread->num_names++;
	return 0;
}

int perfetto_threads_read_thread(struct perfetto_threads *threads, struct bytes message,
				 uint64_t since_ns, uint32_t *ret)
{
	struct perfetto_thread thread = {.since_ns = since_ns};
	struct protobuf_field field;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			thread.pid = (uint32_t)field.value;
		else if (field.number == 2 && field.type == PROTOBUF_VARINT)
			thread.tid = (uint32_t)field.value;
		else if (field.number == 1000 && field.type == PROTOBUF_VARINT)
			thread.grouped_pid = (uint32_t)field.value;
		else if (field.number == 5 && field.type == PROTOBUF_BYTES) {
			err = perfetto_add_string(threads->trace, field.body, &thread.name);
			thread.has_name = true;
		} else if (field.number == 1001 && field.type == PROTOBUF_BYTES) {
			err = read_earlier_name(threads, field.body, &thread);
		}
		if (err)
			return err;
	}
	return describe_thread(threads, &thread, ret);
}

/* ---- the process tree --------------------------------------------------------------------- */

/* Ours repeat the contents of descriptors. */
static int read_tree_process(struct perfetto_threads *threads, struct bytes message,
			     uint64_t since_ns)
{
	struct perfetto_process process = {.since_ns = since_ns};
	_cleanup_(text_release) struct text words = {0};
	struct protobuf_field field;
	bool has_name = false;
	uint32_t ignored;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1000)
			return 0;
		if (field.number == 1 && field.type == PROTOBUF_VARINT) {
			process.pid = (uint32_t)field.value;
		} else if (field.number == 2 && field.type == PROTOBUF_VARINT) {
			process.parent_pid = (uint32_t)field.value;
		} else if (field.number == 5 && field.type == PROTOBUF_VARINT) {
			process.uid = (uint32_t)field.value;
			process.has_uid = true;
		} else if (field.number == 3 && field.type == PROTOBUF_BYTES) {
			append_word(&words, field.body);
			if (!has_name)
				err = add_base_name(threads, field.body, &process.name);
			has_name = true;
		}
		if (err)
			return err;
	}
	err = add_command_line(threads, &words, &process.command_line);
	return err ? err : describe_process(threads, &process, &ignored);
}

static int read_tree_thread(struct perfetto_threads *threads, struct bytes message,
			    uint64_t since_ns)
{
	struct perfetto_thread thread = {.since_ns = since_ns};
	struct protobuf_field field;
	uint32_t ignored;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			thread.tid = (uint32_t)field.value;
		else if (field.number == 3 && field.type == PROTOBUF_VARINT)
			thread.pid = (uint32_t)field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(threads->trace, field.body, &thread.name);
		if (err)
			return err;
	}
	return describe_thread(threads, &thread, &ignored);
}

int perfetto_threads_read_tree(struct perfetto_threads *threads, struct bytes message,
			       uint64_t since_ns)
{
	struct protobuf_field field;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			err = read_tree_process(threads, field.body, since_ns);
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = read_tree_thread(threads, field.body, since_ns);
		if (err)
			return err;
	}
	return 0;
}

/* ---- in order ----------------------------------------------------------------------------- */

static int compare_processes(const void *left, const void *right)
{
	const struct perfetto_process *a = left;
	const struct perfetto_process *b = right;
	int order = COMPARE(a->pid, b->pid);

	order = order ? order : COMPARE(a->since_ns, b->since_ns);
	return order ? order : COMPARE(a->order, b->order);
}

static int compare_threads(const void *left, const void *right)
{
	const struct perfetto_thread *a = left;
	const struct perfetto_thread *b = right;
	int order = COMPARE(a->pid, b->pid);

	order = order ? order : COMPARE(a->tid, b->tid);
	order = order ? order : COMPARE(a->since_ns, b->since_ns);
	return order ? order : COMPARE(a->order, b->order);
}

void perfetto_threads_sort(struct perfetto_threads *threads, uint32_t *process_places,
			   uint32_t *thread_positions)
{
	size_t num_processes = threads->processes.length;
	size_t num_threads = threads->items.length;

	if (num_processes)
		qsort(threads->processes.items, num_processes, sizeof(*threads->processes.items),
		      compare_processes);
	if (num_threads)
		qsort(threads->items.items, num_threads, sizeof(*threads->items.items),
		      compare_threads);
	for (uint32_t i = 0; i < num_processes; i++)
		process_places[threads->processes.items[i].order] = i;
	for (uint32_t i = 0; i < num_threads; i++)
		thread_positions[threads->items.items[i].order] = i;
}

/* Upper bound: how many items sort before or with the key. The last one counts at its time. */
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

/* ---- undescribed processes and threads ---------------------------------------------------- */

static bool find_unknown(const struct perfetto_threads *threads,
			 const struct perfetto_unknown *wanted, uint32_t *ret)
{
	uint32_t found = perfetto_unknown_table_find(&threads->unknown, wanted);

	if (found == HASH_INDEX_NONE)
		return false;
	*ret = threads->unknown.items[found].item;
	return true;
}

/* ---- processes ---------------------------------------------------------------------------- */

/*
 * The description of a pid at a time: the latest that started before; if the time is before all of
 * them, the first. NULL: none.
 */
static struct perfetto_process *find_described(const struct perfetto_threads *threads, uint32_t pid,
					       uint64_t time_ns)
{
	struct perfetto_process key = {.pid = pid, .since_ns = time_ns, .order = UINT32_MAX};
	size_t place = FIND_PLACE(&threads->processes, &key, compare_processes);

	if (place && threads->processes.items[place - 1].pid == pid)
		return &threads->processes.items[place - 1];
	if (place < threads->processes.length && threads->processes.items[place].pid == pid)
		return &threads->processes.items[place];
	return NULL;
}

/* Our writer made up the ids from PERFETTO_SYNTHETIC_ID on for items without one. */
static int add_process(struct perfetto_threads *threads, struct perfetto_process *known)
{
	struct timeline_process process = {
		.pid = known->pid < PERFETTO_SYNTHETIC_ID ? known->pid : 0,
		.parent_pid = known->parent_pid,
		.name = known->name,
		.command_line = known->command_line,
		.uid = known->uid,
		.has_uid = known->has_uid,
		.start_ns = known->start_ns,
		.end_ns = known->end_ns,
	};

	return timeline_add_process(threads->trace->timeline, &process, &known->process);
}

/* With its ancestors, as far as they are described. */
int perfetto_threads_use_process(struct perfetto_threads *threads, struct perfetto_process *known,
				 uint32_t *ret)
{
	struct perfetto_process *ancestor = known;

	while (ancestor && ancestor->process == TIMELINE_NONE) {
		int err = add_process(threads, ancestor);

		if (err)
			return err;
		ancestor = ancestor->parent_pid ? find_described(threads, ancestor->parent_pid,
								 ancestor->since_ns)
						: NULL;
	}
	*ret = known->process;
	return 0;
}

int perfetto_threads_find_process(struct perfetto_threads *threads, uint32_t pid, uint64_t time_ns,
				  uint32_t *ret)
{
	struct perfetto_process *described = find_described(threads, pid, time_ns);
	struct perfetto_unknown unknown = {.pid = pid};
	struct timeline_process process = {.pid = pid < PERFETTO_SYNTHETIC_ID ? pid : 0};
	uint32_t ignored;
	int err;

	if (described)
		return perfetto_threads_use_process(threads, described, ret);
	if (find_unknown(threads, &unknown, ret))
		return 0;
	err = timeline_add_process(threads->trace->timeline, &process, ret);
	if (err)
		return err;
	unknown.item = *ret;
	return perfetto_unknown_table_add(&threads->unknown, &unknown, &ignored);
}

/* ---- threads ------------------------------------------------------------------------------ */

int perfetto_threads_add(struct perfetto_threads *threads, uint32_t process, uint32_t tid,
			 uint32_t name, uint32_t *ret)
{
	struct timeline_thread thread = {
		.process = process,
		.name = name,
		.tid = tid < PERFETTO_SYNTHETIC_ID ? tid : 0,
	};

	return timeline_add_thread(threads->trace->timeline, &thread, ret);
}

/* The names before the last one, into the timeline and for the samples. */
static int add_earlier_names(struct perfetto_threads *threads, const struct perfetto_thread *known)
{
	for (uint32_t i = 0; i < known->num_names; i++) {
		const struct perfetto_earlier_name *earlier =
			&threads->earlier_names.items[known->first_name + i];
		struct thread_name name = {.thread = known->thread,
					   .name = earlier->name,
					   .until_ns = earlier->until_ns};
		int err = timeline_add_thread_name(threads->trace->timeline, &name, NULL);

		if (err)
			return err;
	}
	while (known->num_names && threads->thread_names.length <= known->thread)
		if (!array_add(&threads->thread_names))
			return -ENOMEM;
	if (known->num_names)
		threads->thread_names.items[known->thread] =
			(struct perfetto_thread_names){known->first_name, known->num_names};
	return 0;
}

/* A thread without a name goes by that of its process. */
int perfetto_threads_use(struct perfetto_threads *threads, struct perfetto_thread *known,
			 uint64_t time_ns, uint32_t *ret)
{
	uint32_t name = known->name;
	uint32_t process;
	int err;

	if (known->thread == TIMELINE_NONE) {
		if (known->grouped_pid)
			err = perfetto_threads_find_process(threads, known->grouped_pid,
							    known->since_ns, &process);
		else
			err = perfetto_threads_find_process(threads, known->pid, time_ns, &process);
		if (err)
			return err;
		if (!known->has_name && name == STRING_EMPTY)
			name = timeline_get_process(threads->trace->timeline, process)->name;
		err = perfetto_threads_add(threads, process, known->tid, name, &known->thread);
		if (err)
			return err;
		err = add_earlier_names(threads, known);
		if (err)
			return err;
	}
	*ret = known->thread;
	return 0;
}

static bool has_ids(const struct perfetto_threads *threads, size_t place, uint32_t pid,
		    uint32_t tid)
{
	return place < threads->items.length && threads->items.items[place].pid == pid &&
	       threads->items.items[place].tid == tid;
}

/* As with processes. A thread that nothing describes is made once, and known by its ids. */
int perfetto_threads_find(struct perfetto_threads *threads, uint32_t pid, uint32_t tid,
			  uint64_t time_ns, uint32_t *ret)
{
	struct perfetto_thread key = {
		.pid = pid, .tid = tid, .since_ns = time_ns, .order = UINT32_MAX};
	struct perfetto_unknown unknown = {.pid = pid, .tid = tid, .is_thread = true};
	size_t place = FIND_PLACE(&threads->items, &key, compare_threads);
	uint32_t process;
	uint32_t ignored;
	int err;

	if (place && has_ids(threads, place - 1, pid, tid))
		return perfetto_threads_use(threads, &threads->items.items[place - 1], time_ns,
					    ret);
	if (has_ids(threads, place, pid, tid))
		return perfetto_threads_use(threads, &threads->items.items[place], time_ns, ret);
	if (find_unknown(threads, &unknown, ret))
		return 0;
	err = perfetto_threads_find_process(threads, pid, time_ns, &process);
	if (err)
		return err;
	err = perfetto_threads_add(threads, process, tid,
				   timeline_get_process(threads->trace->timeline, process)->name,
				   ret);
	if (err)
		return err;
	unknown.item = *ret;
	return perfetto_unknown_table_add(&threads->unknown, &unknown, &ignored);
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

static int copy_string(const struct perfetto_threads *threads, uint32_t string, uint32_t *ret)
{
	return string_table_copy(timeline_get_strings(threads->trace->timeline), string,
				 profile_get_strings(threads->trace->import->profile), ret);
}

/* Set the script that an interpreter runs. Words that had blanks in them are several here. */
static int set_script(struct perfetto_threads *threads, const struct timeline_process *process,
		      uint32_t id)
{
	const struct string_table *strings = timeline_get_strings(threads->trace->timeline);
	struct profile *profile = threads->trace->import->profile;
	_cleanup_(text_release) struct text words = {0};
	_cleanup_(text_release) struct text script = {0};
	uint32_t name;
	int err;

	if (process->command_line == STRING_EMPTY)
		return 0;
	text_append(&words, string_table_get(strings, process->command_line),
		    string_table_get_length(strings, process->command_line));
	if (words.failed)
		return -ENOMEM;
	for (size_t i = 0; i < words.length; i++)
		if (words.data[i] == ' ')
			words.data[i] = '\0';
	script_name_append(string_table_get(strings, process->name), words.data, words.length,
			   &script);
	if (script.failed)
		return -ENOMEM;
	if (!script.length)
		return 0;
	err = profile_add_frame_name(profile, script.data, script.length, &name);
	if (err)
		return err;
	profile_set_process_script(profile, id, name);
	return 0;
}

static int get_profile_process(struct perfetto_threads *threads, uint32_t id, uint32_t *ret)
{
	const struct timeline_process *process = timeline_get_process(threads->trace->timeline, id);
	uint32_t *slot = GET_SLOT(threads->profile_processes, id);
	uint32_t comm;
	int err;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		err = copy_string(threads, process->name, &comm);
		if (err)
			return err;
		err = profile_add_process(threads->trace->import->profile, process->pid, comm,
					  slot);
		if (err)
			return err;
		err = set_script(threads, process, *slot);
		if (err)
			return err;
		++*slot;
	}
	*ret = *slot - 1;
	return 0;
}

static int add_profile_thread(struct perfetto_threads *threads, const struct timeline_thread *info,
			      uint32_t name, uint32_t *ret)
{
	struct thread thread = {.tid = (uint32_t)info->tid,
				.source = threads->trace->import->source};
	int err = copy_string(threads, name, &thread.comm);

	if (err)
		return err;
	err = get_profile_process(threads, info->process, &thread.process);
	return err ? err : profile_add_thread(threads->trace->import->profile, &thread, ret);
}

/* A name that it had before the last one. */
static bool find_earlier_name(const struct perfetto_threads *threads, uint32_t id, uint64_t time_ns,
			      uint32_t *ret)
{
	const struct perfetto_thread_names *names;

	if (id >= threads->thread_names.length)
		return false;
	names = &threads->thread_names.items[id];
	for (uint32_t i = 0; i < names->count; i++) {
		const struct perfetto_earlier_name *name =
			&threads->earlier_names.items[names->first + i];

		if (time_ns >= name->until_ns)
			continue;
		*ret = name->name;
		return true;
	}
	return false;
}

int perfetto_threads_get_profile_id(struct perfetto_threads *threads, uint32_t id, uint64_t time_ns,
				    uint32_t *ret)
{
	const struct timeline_thread *info = timeline_get_thread(threads->trace->timeline, id);
	uint32_t *slot = GET_SLOT(threads->profile_threads, id);
	uint32_t name;
	int err;

	if (!slot)
		return -ENOMEM;
	if (find_earlier_name(threads, id, time_ns, &name))
		return add_profile_thread(threads, info, name, ret);
	if (!*slot) {
		err = add_profile_thread(threads, info, info->name, slot);
		if (err)
			return err;
		++*slot;
	}
	*ret = *slot - 1;
	return 0;
}

void perfetto_threads_release(struct perfetto_threads *threads)
{
	array_release(&threads->processes);
	array_release(&threads->items);
	array_release(&threads->earlier_names);
	array_release(&threads->thread_names);
	perfetto_unknown_table_release(&threads->unknown);
	array_release(&threads->profile_threads);
	array_release(&threads->profile_processes);
}
