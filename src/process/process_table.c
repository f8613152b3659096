/*
 * A process is known from two sources: events, which are exact but begin with the recording, and
 * /proc, which is complete but only a snapshot. A scan is therefore stamped with a time taken before
 * it (as_of_ns): events older than the stamp are in the scan already, younger ones are applied to
 * it. Events from while /proc was being read are applied although the scan has them, which does no
 * harm: each sets a state that was true at its own time, and the last one sets the final state.
 */
#include "process/process_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/script_name.h"
#include "process/jit_files.h"
#include "process/jit_runtime.h"
#include "process/proc_scan.h"
#include "process/process_image.h"
#include "process/replaced_text.h"

/* How long a process is kept as it was after its end, for samples that come late. */
#define KEPT_NS (2 * NS_PER_SECOND)

#define JIT_SEARCH_INTERVAL_NS (100 * NS_PER_MS)
/* How often to ask after files without notification: all, or those of a file system that has none. */
#define JIT_READ_INTERVAL_NS      (100 * NS_PER_MS)
#define JIT_UNWATCHED_INTERVAL_NS (10 * NS_PER_MS)
/* As much as is read of them, of all processes together, in a tenth of a second, while samples wait. */
#define JIT_STEP_BYTES (8u << 20)
/* As much as is read, of all, when the recording has ended. */
#define JIT_FINAL_BYTES     (512u << 20)
#define JIT_FINAL_ONE_BYTES (128u << 20) /* of one */
/* As much memory as the names of all processes may take. */
#define JIT_MAX_BYTES (256u << 20)

/* Pauses between looks for moved mappings; they double while nothing is found. */
#define MOVE_PAUSE_MIN_NS (100 * NS_PER_MS)
#define MOVE_PAUSE_MAX_NS (60 * NS_PER_SECOND)

struct pid_slot {
	uint32_t pid;
	struct process_image *current; /* NULL: not known (any more) */
};
INTERN_TABLE(pid_table, struct pid_slot, pid);

/* The names of the code that the processes of a user generate. */
struct user_code {
	uid_t uid;
	uint64_t size_bytes;
	struct process_image *largest;
};
INTERN_TABLE(user_code_table, struct user_code, uid);

/* One that has exited, or called exec. */
struct ended_image {
	uint32_t id;
	uint64_t seen_ns;
};

/* Images are never removed while the table lives: samples that come late may be of any of them. */
struct process_table {
	char *proc_root;
	struct file_table *files;
	ARRAY(struct process_image *) images;
	ARRAY(struct ended_image) ended; /* in the order in which that was seen */
	size_t num_trimmed;              /* of these, from the start */
	struct pid_table slots;
	ARRAY(uint32_t) changed; /* ids, in order of their change */
	size_t num_taken;        /* of changed, from its start */
	ARRAY(uint32_t) jits;    /* ids of those whose jit_files are read while they grow */
	int watch_fd;            /* inotify; -1: none */
	uint64_t next_jit_read_ns;
	size_t first_jit;        /* of jits: where reading goes on */
	uint64_t jit_left_bytes; /* may be read until next_jit_step_ns */
	uint64_t next_jit_step_ns;
	uint64_t jit_bytes;       /* memory of the names of all */
	uint64_t jit_limit_bytes; /* of that */
	bool keeps_details;       /* users and command lines */
	bool keeps_scripts;       /* what interpreters run */
	struct process_table_stats stats;
};

struct process_table *process_table_new(const char *proc_root, struct file_table *files)
{
	struct process_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->files = files;
	table->watch_fd = -1;
	table->jit_left_bytes = JIT_STEP_BYTES;
	table->jit_limit_bytes = JIT_MAX_BYTES;
	table->proc_root = strdup(proc_root);
	if (!table->proc_root) {
		process_table_free(table);
		return NULL;
	}
	return table;
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	array_for_each (&table->images, image)
		process_image_free(*image);
	array_release(&table->images);
	array_release(&table->ended);
	array_release(&table->changed);
	array_release(&table->jits);
	cleanup_closep(&table->watch_fd);
	pid_table_release(&table->slots);
	free(table->proc_root);
	free(table);
}

static struct pid_slot *find_slot(const struct process_table *table, pid_t pid)
{
	uint32_t slot = pid_table_find(&table->slots, &(struct pid_slot){.pid = (uint32_t)pid});

	return slot == HASH_INDEX_NONE ? NULL : &table->slots.items[slot];
}

static struct pid_slot *add_slot(struct process_table *table, pid_t pid)
{
	uint32_t slot;

	if (pid_table_add(&table->slots, &(struct pid_slot){.pid = (uint32_t)pid}, &slot))
		return NULL;
	return &table->slots.items[slot];
}

static struct process_image *find_current(const struct process_table *table, pid_t pid)
{
	const struct pid_slot *slot = find_slot(table, pid);

	return slot ? slot->current : NULL;
}

/* Returns 0 or -ENOMEM. */
static int note_change(struct process_table *table, struct process_image *image)
{
	uint32_t *id;

	if (image->is_listed_as_changed)
		return 0;
	id = array_add(&table->changed);
	if (!id)
		return -ENOMEM;
	*id = image->process.id;
	image->is_listed_as_changed = true;
	return 0;
}

/* Each changed image once, however many changes it had since it was taken last. */
bool process_table_take_changed(struct process_table *table, uint32_t *ret_id)
{
	if (table->num_taken == table->changed.length) {
		table->num_taken = table->changed.length = 0;
		return false;
	}
	*ret_id = table->changed.items[table->num_taken++];
	table->images.items[*ret_id]->is_listed_as_changed = false;
	return true;
}

/* Without memory it stays as it is. */
static void note_end(struct process_table *table, const struct process_image *image)
{
	struct ended_image *ended = array_add(&table->ended);

	if (ended)
		*ended = (struct ended_image){image->process.id, clock_now_ns()};
}

static void trim(const struct process_table *table, struct process_image *image)
{
	const struct jit_files *jit = &process_image_get_code(image)->jit;
	bool has_ended =
		image->process.is_exited || image != find_current(table, (pid_t)image->process.pid);

	if (has_ended && !image->is_sampled && !jit->size_bytes && !jit->is_followed)
		process_image_forget_code(image);
}

void process_table_trim(struct process_table *table, uint64_t now_ns)
{
	struct ended_image *ended = table->ended.items;
	size_t *num = &table->num_trimmed;

	while (*num < table->ended.length && ended[*num].seen_ns + KEPT_NS <= now_ns)
		trim(table, table->images.items[ended[(*num)++].id]);
	if (*num * 2 < table->ended.length || !*num)
		return;
	table->ended.length -= *num;
	memmove(ended, ended + *num, table->ended.length * sizeof(*ended));
	*num = 0;
}

/* The pid belongs to another process now. */
static void forget_current(struct process_table *table, pid_t pid)
{
	struct pid_slot *slot = find_slot(table, pid);

	if (!slot || !slot->current)
		return;
	slot->current->process.is_exited = true;
	note_end(table, slot->current);
	/* Out of memory: what was published of it stays published, which does no harm. */
	(void)!note_change(table, slot->current);
	slot->current = NULL;
}

/* Make a new image the current one of pid. NULL when out of memory. */
static struct process_image *start_image(struct process_table *table, pid_t pid, uint64_t time_ns)
{
	uint32_t id = (uint32_t)table->images.length;
	struct pid_slot *slot = find_slot(table, pid);
	struct process_image **item;

	if (!slot)
		slot = add_slot(table, pid);
	if (!slot)
		return NULL;
	item = array_add(&table->images);
	if (!item)
		return NULL;
	*item = process_image_new(id, pid, time_ns);
	if (!*item) {
		table->images.length--;
		return NULL;
	}
	slot->current = *item;
	return note_change(table, *item) ? NULL : *item;
}

/* An exec at time_ns: the next image of the same process. NULL when out of memory. */
static struct process_image *start_next_image(struct process_table *table,
					      struct process_image *previous, uint64_t time_ns)
{
	struct process_image *next = start_image(table, (pid_t)previous->process.pid, time_ns);

	if (!next)
		return NULL;
	next->process.previous = &previous->process;
	note_end(table, previous);
	previous->process.end_ns = time_ns;
	next->process.parent_pid = previous->process.parent_pid;
	next->process.has_uid = previous->process.has_uid;
	next->process.uid = previous->process.uid;
	next->proc_start_ns = previous->proc_start_ns;
	return next;
}

/*
 * Whether /proc shows another process than the one that had this pid. Start times are those of
 * /proc, rounded down to a clock tick, and decide where both are known.
 */
static bool is_other_process(const struct process_image *image, const struct proc_entry *entry)
{
	if (image->proc_start_ns && entry->start_ns)
		return image->proc_start_ns != entry->start_ns;
	if (entry->start_ns > image->process.start_ns)
		return true;
	return image->process.is_exited && !entry->is_zombie;
}

void process_table_keep_details(struct process_table *table)
{
	table->keeps_details = true;
}

/*
 * Whatever cannot be read stays as it was. /proc/PID is the current image's, and that of one that has
 * ended may be another process's. Where it has another name, the process has called exec since then,
 * of which we will hear.
 */
static int read_details(struct process_table *table, struct process_image *image)
{
	struct process *process = &image->process;
	_cleanup_(proc_details_release) struct proc_details details = {0};
	int err;

	if (!table->keeps_details && !(table->keeps_scripts && script_name_is_for(process->comm)))
		return 0;
	if (process->is_exited || image != find_current(table, (pid_t)process->pid))
		return 0;
	err = proc_details_read(table->proc_root, (pid_t)process->pid,
				file_table_get_opener(table->files), &details);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (!string_starts_with(details.comm, process->comm))
		return 0;
	/* Who sets a title overwrites what it was started with: what is known of that is kept. */
	if (table->keeps_scripts && details.script.length) {
		err = process_image_set_script(image, details.script.data);
		if (err)
			return err;
	}
	if (!table->keeps_details)
		return 0;
	if (details.has_uid) {
		process->has_uid = true;
		process->uid = details.uid;
	}
	return details.command_line.length
		       ? process_image_set_command_line(image, details.command_line.data)
		       : 0;
}

void process_table_keep_scripts(struct process_table *table)
{
	table->keeps_scripts = true;
}

void process_table_read_script(const struct process_table *table, pid_t pid, const char *comm,
			       struct text *script)
{
	_cleanup_(proc_details_release) struct proc_details details = {0};

	if (!table->keeps_scripts || !script_name_is_for(comm) ||
	    proc_details_read(table->proc_root, pid, file_table_get_opener(table->files), &details))
		return;
	/* Else it has called exec since then. */
	if (string_starts_with(details.comm, comm) && details.script.length)
		text_append(script, details.script.data, details.script.length);
}

int process_table_set_script(struct process_table *table, uint64_t time_ns, pid_t pid,
			     const char *script)
{
	struct process_image *image = find_current(table, pid);

	if (!image || time_ns < image->process.as_of_ns)
		return 0;
	return process_image_set_script(image, script);
}

/* The kernel has reported the end of its first thread, or of our listening to it. Returns 0 or -ENOMEM. */
static int undo_end(const struct process_table *table, struct process_image *image)
{
	struct proc_entry entry;
	int err = proc_entry_read(table->proc_root, (pid_t)image->process.pid, &entry);

	if (err)
		return err == -ENOMEM ? err : 0;
	if (!entry.is_zombie && image->proc_start_ns && entry.start_ns == image->proc_start_ns)
		image->process.end_ns = 0;
	return 0;
}

int process_table_refresh_details(struct process_table *table)
{
	if (!table->keeps_details)
		return 0;
	array_for_each (&table->images, image) {
		int err;

		if (*image != find_current(table, (pid_t)(*image)->process.pid))
			continue;
		err = (*image)->process.is_exited ? undo_end(table, *image) : 0;
		if (err)
			return err;
		err = read_details(table, *image);
		if (err)
			return err;
	}
	return 0;
}

int process_table_scan_pid(struct process_table *table, pid_t pid)
{
	uint64_t as_of_ns = clock_now_ns();
	struct process_image *image = find_current(table, pid);
	struct proc_entry entry;
	int err = proc_entry_read(table->proc_root, pid, &entry);

	if (err)
		return err;
	if (image && is_other_process(image, &entry)) {
		forget_current(table, pid);
		image = NULL;
	}
	if (!image) {
		bool is_plausible = entry.start_ns && entry.start_ns < as_of_ns;

		image = start_image(table, pid, is_plausible ? entry.start_ns : as_of_ns);
	}
	if (!image)
		return -ENOMEM;
	err = note_change(table, image);
	if (err)
		return err;
	err = process_image_refresh(image, table->proc_root, table->files, &entry, as_of_ns);
	return err ? err : read_details(table, image);
}

struct scan {
	struct process_table *table;
	bool (*is_target)(pid_t pid, void *context); /* NULL: each is */
	void *context;
};

static int scan_visited(pid_t pid, void *context)
{
	const struct scan *scan = context;
	int err = 0;

	if (!scan->is_target || scan->is_target(pid, scan->context))
		err = process_table_scan_pid(scan->table, pid);
	/* Processes end while we read, and not everything may be read. */
	return err == -ENOMEM ? err : 0;
}

int process_table_scan_some(struct process_table *table,
			    bool (*is_target)(pid_t pid, void *context), void *context)
{
	struct scan scan = {.table = table, .is_target = is_target, .context = context};

	return proc_for_each_pid(table->proc_root, scan_visited, &scan);
}

int process_table_scan(struct process_table *table)
{
	return process_table_scan_some(table, NULL, NULL);
}

/* The current image of pid; one not known yet is read from /proc, or begins empty. */
static int find_or_read(struct process_table *table, uint64_t time_ns, pid_t pid,
			struct process_image **ret)
{
	struct process_image *image = find_current(table, pid);

	if (!image) {
		int err = process_table_scan_pid(table, pid);

		if (err == -ENOMEM)
			return err;
		image = err ? start_image(table, pid, time_ns) : find_current(table, pid);
	}
	if (!image)
		return -ENOMEM;
	*ret = image;
	return 0;
}

/* Whether the event is older than the scan, which includes its effect then. */
static bool is_known_already(const struct process_image *image, uint64_t time_ns)
{
	return time_ns < image->process.as_of_ns;
}

/*
 * A fork by an unknown process. The child's entry in /proc is best; if the child is gone, that of
 * its parent has to do.
 */
static int read_child_of_unknown(struct process_table *table, pid_t pid, pid_t parent_pid,
				 bool *ret_is_done)
{
	int err = process_table_scan_pid(table, pid);

	*ret_is_done = err == 0;
	if (err && err != -ENOMEM)
		err = process_table_scan_pid(table, parent_pid);
	return err == -ENOMEM ? err : 0;
}

int process_table_on_fork(struct process_table *table, uint64_t time_ns, pid_t pid,
			  pid_t parent_pid)
{
	const struct process_image *old = find_current(table, pid);
	struct process_image *parent;
	struct process_image *child;

	table->stats.forks++;
	/* The scan has seen the child already. */
	if (old && old->process.as_of_ns && old->process.as_of_ns >= time_ns)
		return 0;
	forget_current(table, pid);

	parent = find_current(table, parent_pid);
	if (!parent) {
		bool is_done;
		int err = read_child_of_unknown(table, pid, parent_pid, &is_done);

		if (err || is_done)
			return err;
		parent = find_current(table, parent_pid);
	}
	child = start_image(table, pid, time_ns);
	if (!child)
		return -ENOMEM;
	child->process.parent_pid = (uint32_t)parent_pid;
	return parent ? process_image_inherit(child, parent) : 0;
}

int process_table_on_fork_by(struct process_table *table, uint64_t time_ns, pid_t pid,
			     pid_t parent_pid, pid_t parent_tid)
{
	struct process_image *child;
	int err = process_table_on_fork(table, time_ns, pid, parent_pid);

	if (err)
		return err;
	child = find_current(table, pid);
	if (child && child->process.start_ns == time_ns)
		child->process.parent_tid = (uint32_t)parent_tid;
	return 0;
}

static int on_exec(struct process_table *table, uint64_t time_ns, struct process_image *previous,
		   const char *comm)
{
	struct process_image *image = start_next_image(table, previous, time_ns);

	if (!image)
		return -ENOMEM;
	process_image_set_comm(image, comm);
	if (previous->process.generation != GENERATION_UNKNOWN)
		image->process.generation = previous->process.generation + 1;
	return process_image_take_latest(image, previous, time_ns);
}

int process_table_on_comm(struct process_table *table, uint64_t time_ns, pid_t pid,
			  const char *comm, bool is_exec)
{
	struct process_image *image;
	bool is_known = find_current(table, pid) != NULL;
	int err = find_or_read(table, time_ns, pid, &image);

	if (is_exec)
		table->stats.execs++;
	if (err)
		return err;
	if (is_known_already(image, time_ns)) {
		/* The counter comes from a sample that is older than the event. */
		if (!is_exec || image->process.generation == GENERATION_UNKNOWN)
			return 0;
		image->process.generation++;
		return note_change(table, image);
	}
	/* The first image of a process that was unknown is the one after the exec. */
	if (is_exec && is_known)
		return on_exec(table, time_ns, image, comm);
	process_image_set_comm(image, comm);
	return 0;
}

int process_table_on_mmap(struct process_table *table, uint64_t time_ns, pid_t pid,
			  const struct mapping *mapping, const struct file_identity *identity)
{
	struct mapping added = *mapping;
	struct process_image *image;
	int err = find_or_read(table, time_ns, pid, &image);

	if (err)
		return err;
	if (is_known_already(image, time_ns) || mapping->start >= mapping->end)
		return 0;
	if (mapping->file == FILE_NONE || file_table_get(table->files, mapping->file)->fd < 0) {
		const struct mapped_range range = {
			.pid = pid,
			.parent_pid = (pid_t)image->process.parent_pid,
			.start = mapping->start,
			.end = mapping->end,
		};

		err = file_table_add(table->files, &range, identity, &added.file);
		if (err)
			return err;
	}
	/* Events count the pages of anonymous memory from address 0, maps does not count them. */
	if (added.file == FILE_NONE)
		added.file_offset = 0;
	image->process.is_exited = false;
	image->process.end_ns = 0;
	err = note_change(table, image);
	if (err)
		return err;
	return replaced_text_may_be_in(table->files, added.file)
		       ? process_image_map_memory(image, time_ns, &added, table->files)
		       : process_image_map(image, time_ns, &added);
}

/* The first one of all is remembered by name. */
static void note_truncated_names(struct process_table *table, const struct process_image *image)
{
	struct process_table_stats *stats = &table->stats;

	if (!stats->truncated_code_maps++) {
		stats->first_truncated_pid = image->process.pid;
		memcpy(stats->first_truncated_comm, image->process.comm, COMM_SIZE);
	}
}

static int add_to_user(struct user_code_table *users, struct process_image *image)
{
	const struct jit_files *jit = &process_image_get_code(image)->jit;
	struct user_code wanted = {.uid = jit->owner};
	struct user_code *user;
	uint32_t number;
	int err = user_code_table_intern(users, &wanted, &number);

	if (err)
		return err;
	user = &users->items[number];
	user->size_bytes += jit->size_bytes;
	if (!user->largest || jit->size_bytes > user->largest->code->jit.size_bytes)
		user->largest = image;
	return 0;
}

/*
 * The names of all processes take too much: those of one are forgotten, the largest of the user whose
 * names take the most. So nobody loses names by those of others before these have lost theirs.
 */
static int empty_largest(struct process_table *table)
{
	struct user_code_table users = {0};
	const struct user_code *most = NULL;
	struct process_image *image;
	int err = 0;

	for (size_t i = 0; i < table->images.length && !err; i++)
		if (process_image_get_code(table->images.items[i])->jit.size_bytes)
			err = add_to_user(&users, table->images.items[i]);
	array_for_each (&users, user)
		if (!most || user->size_bytes > most->size_bytes)
			most = user;
	if (!err && most) {
		image = most->largest;
		table->jit_bytes -= image->code->jit.size_bytes;
		if (!image->code->jit.are_names_truncated)
			note_truncated_names(table, image);
		jit_files_empty(&image->code->jit);
	}
	user_code_table_release(&users);
	return err;
}

static int read_jit_files(struct process_table *table, struct process_image *image,
			  uint64_t *left_bytes)
{
	uint64_t size_bytes;
	bool are_names_truncated;
	int err;

	if (!image->code)
		return 0;
	size_bytes = image->code->jit.size_bytes;
	are_names_truncated = image->code->jit.are_names_truncated;
	err = jit_files_read(&image->code->jit, left_bytes);
	table->jit_bytes += image->code->jit.size_bytes - size_bytes;
	if (image->code->jit.are_names_truncated && !are_names_truncated)
		note_truncated_names(table, image);
	while (!err && table->jit_bytes > table->jit_limit_bytes)
		err = empty_largest(table);
	return err;
}

static int search_jit_files(struct process_table *table, struct process_image *image,
			    uint64_t *left_bytes)
{
	struct image_code *code = process_image_use_code(image);
	int err = code ? jit_files_search(&code->jit, table->proc_root, (pid_t)image->process.pid,
					  table->files, &code->mappings, table->watch_fd)
		       : -ENOMEM;

	return err ? err : read_jit_files(table, image, left_bytes);
}

/*
 * Not every exit is the end. The kernel also reports the one of the first thread while others go on,
 * and, after an exec that raises privileges, that it stopped to monitor the task; the mappings of
 * the new program follow. Whoever maps something lives: see process_table_on_mmap().
 */
int process_table_on_exit(struct process_table *table, uint64_t time_ns, pid_t pid)
{
	struct process_image *image = find_current(table, pid);
	int err;

	table->stats.exits++;
	/* An exit before the image's start is that of an earlier process with this pid. */
	if (!image || time_ns < image->process.start_ns)
		return 0;
	/* Whoever ends gives back its memory first. */
	if (is_known_already(image, time_ns) && image->was_mapped_in_scan)
		return 0;
	image->process.is_exited = true;
	image->process.end_ns = time_ns;
	note_end(table, image);
	/* The last chance to find its perf-map by way of /proc/PID/root. */
	if (process_image_get_code(image)->jit.is_followed) {
		err = search_jit_files(table, image, &table->jit_left_bytes);
		if (err)
			return err;
	}
	return note_change(table, image);
}

/* Threads may outlive the first one, and with them the process. */
void process_table_on_thread_exit(struct process_table *table, uint64_t time_ns, pid_t pid)
{
	struct process_image *image = find_current(table, pid);

	if (image && image->process.is_exited && image->process.end_ns)
		image->process.end_ns = time_ns;
}

int process_table_look_for_moved(struct process_table *table, uint64_t time_ns, uint32_t id)
{
	struct process_image *image;
	struct image_code *code;

	assert(id < table->images.length);
	image = table->images.items[id];
	if (image->process.is_exited || image != find_current(table, (pid_t)image->process.pid))
		return 0;
	code = process_image_use_code(image);
	if (!code)
		return -ENOMEM;
	if (time_ns < code->next_move_ns)
		return 0;
	code->move_pause_ns *= 2;
	if (code->move_pause_ns < MOVE_PAUSE_MIN_NS)
		code->move_pause_ns = MOVE_PAUSE_MIN_NS;
	if (code->move_pause_ns > MOVE_PAUSE_MAX_NS)
		code->move_pause_ns = MOVE_PAUSE_MAX_NS;
	/* Samples that were waiting meanwhile ask for nothing new. */
	code->next_move_ns = clock_now_ns() + code->move_pause_ns;
	return process_image_read_moved(image, table->proc_root, table->files);
}

static int take_moved(struct process_table *table, struct process_image *image, uint64_t time_ns)
{
	bool is_changed;
	int err = process_image_take_moved(image, time_ns, &is_changed);

	if (err || !is_changed)
		return err;
	image->code->move_pause_ns = image->code->next_move_ns = 0;
	return note_change(table, image);
}

/* A sample's generation shows an exec whose event was lost. */
static int on_missed_exec(struct process_table *table, uint64_t time_ns,
			  struct process_image *previous, uint64_t generation,
			  struct process_image **ret)
{
	uint64_t as_of_ns = clock_now_ns();
	struct process_image *image = start_next_image(table, previous, time_ns);
	struct proc_entry entry;
	int err;

	if (!image)
		return -ENOMEM;
	table->stats.missed_execs++;
	image->process.generation = generation;
	*ret = image;
	err = proc_entry_read(table->proc_root, (pid_t)image->process.pid, &entry);
	if (err)
		return err == -ENOMEM ? err : 0;
	return process_image_refresh(image, table->proc_root, table->files, &entry, as_of_ns);
}

/*
 * The image that pid ran when its exec counter stood at generation, as far as it is known. From the
 * newest back, until the counter is not above the sample's.
 */
static struct process *find_earlier(struct process *process, uint64_t generation)
{
	do {
		process = process->previous;
	} while (process->previous && process->generation != GENERATION_UNKNOWN &&
		 process->generation > generation);
	return process;
}

static int find_image(struct process_table *table, uint64_t time_ns, pid_t pid, uint64_t generation,
		      bool is_in_execve, struct process **ret, bool *ret_is_in_exec)
{
	struct process_image *image;
	struct process *process;
	int err = find_or_read(table, time_ns, pid, &image);

	if (err)
		return err;
	err = take_moved(table, image, time_ns);
	if (err)
		return err;
	process = &image->process;
	if (process->generation == GENERATION_UNKNOWN && is_in_execve)
		generation = GENERATION_UNKNOWN;
	if (generation != GENERATION_UNKNOWN && process->generation == GENERATION_UNKNOWN) {
		process->generation = generation;
		err = note_change(table, image);
		if (err)
			return err;
	}
	if (generation == GENERATION_UNKNOWN || generation == process->generation) {
		*ret = process;
		*ret_is_in_exec = false;
		return 0;
	}
	/*
	 * The sample is older than the exec that has been seen: it was taken while that was under
	 * way, or it comes late.
	 */
	if (generation < process->generation) {
		*ret = process->previous ? find_earlier(process, generation) : process;
		*ret_is_in_exec = true;
		return 0;
	}
	err = on_missed_exec(table, time_ns, image, generation, &image);
	if (err)
		return err;
	*ret = &image->process;
	*ret_is_in_exec = false;
	return 0;
}

int process_table_find(struct process_table *table, uint64_t time_ns, pid_t pid,
		       uint64_t generation, bool is_in_execve, struct process **ret,
		       bool *ret_is_in_exec)
{
	int err = find_image(table, time_ns, pid, generation, is_in_execve, ret, ret_is_in_exec);
	struct process_image *image;

	if (err)
		return err;
	image = (struct process_image *)*ret;
	if (image->is_sampled)
		return 0;
	image->is_sampled = true;
	return read_details(table, image);
}

const struct process *process_table_get(const struct process_table *table, uint32_t id)
{
	assert(id < table->images.length);
	return &table->images.items[id]->process;
}

uint32_t process_table_get_count(const struct process_table *table)
{
	return (uint32_t)table->images.length;
}

const struct mapping *process_get_mappings(const struct process *process, size_t *ret_count)
{
	const struct mapping_list *mappings =
		&process_image_get_code((const struct process_image *)process)->mappings;

	*ret_count = mappings->sorted.length;
	return mappings->sorted.items;
}

const struct mapping *process_find_mapping(const struct process *process, uint64_t pc)
{
	const struct process_image *image = (const struct process_image *)process;

	return mapping_list_find(&process_image_get_code(image)->mappings, pc);
}

int process_table_follow_code(struct process_table *table, uint64_t time_ns, uint32_t id)
{
	struct process_image *image;
	struct image_code *code;
	uint32_t *listed;

	assert(id < table->images.length);
	image = table->images.items[id];
	/* /proc/PID is the current image's: too late for earlier ones. */
	if (image != find_current(table, (pid_t)image->process.pid))
		return 0;
	code = process_image_use_code(image);
	if (!code)
		return -ENOMEM;
	if (time_ns < code->jit.next_search_ns)
		return 0;
	if (!code->jit.is_followed) {
		listed = array_add(&table->jits);
		if (!listed)
			return -ENOMEM;
		*listed = id;
		code->jit.is_followed = true;
	}
	code->jit.next_search_ns = time_ns + JIT_SEARCH_INTERVAL_NS;
	if (code->jit.perf_map && code->jit.jitdump)
		return 0;
	return search_jit_files(table, image, &table->jit_left_bytes);
}

void process_table_limit_code(struct process_table *table, uint64_t limit_bytes)
{
	table->jit_limit_bytes = limit_bytes;
}

int process_table_watch_code(struct process_table *table)
{
	if (table->watch_fd < 0)
		table->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return table->watch_fd < 0 ? -errno : table->watch_fd;
}

/*
 * Whether a watched file changed; which one matters little, as there are few. What is not taken,
 * because somebody writes faster than we read, is there the next time.
 */
static bool take_changes(struct process_table *table)
{
	char events[65536];

	return table->watch_fd >= 0 && read(table->watch_fd, events, sizeof(events)) > 0;
}

/* Where not all may be read, the next time begins with what was not. */
static int read_all_code(struct process_table *table, uint64_t *left_bytes)
{
	size_t num_jits = table->jits.length;

	if (table->first_jit >= num_jits)
		table->first_jit = 0;
	for (size_t i = 0; i < num_jits && *left_bytes; i++) {
		size_t number = (table->first_jit + i) % num_jits;
		uint32_t id = table->jits.items[number];
		int err = read_jit_files(table, table->images.items[id], left_bytes);

		if (err)
			return err;
		if (!*left_bytes)
			table->first_jit = number + 1;
	}
	return 0;
}

int process_table_read_code(struct process_table *table, uint64_t now_ns)
{
	size_t num_left = 0;
	int err;

	if (!take_changes(table) && now_ns < table->next_jit_read_ns)
		return 0;
	table->next_jit_read_ns =
		now_ns + (table->watch_fd < 0 ? JIT_UNWATCHED_INTERVAL_NS : JIT_READ_INTERVAL_NS);
	if (now_ns >= table->next_jit_step_ns) {
		table->jit_left_bytes = JIT_STEP_BYTES;
		table->next_jit_step_ns = now_ns + JIT_READ_INTERVAL_NS;
	}
	err = read_all_code(table, &table->jit_left_bytes);
	if (err)
		return err;
	for (size_t i = 0; i < table->jits.length; i++) {
		uint32_t id = table->jits.items[i];
		struct process_image *image = table->images.items[id];

		if (!image->process.is_exited)
			table->jits.items[num_left++] = id;
		else if (image->code)
			image->code->jit.is_followed = false;
	}
	table->jits.length = num_left;
	return 0;
}

int process_table_finish_code(struct process_table *table)
{
	uint64_t left_bytes = JIT_FINAL_BYTES;

	array_for_each (&table->images, image) {
		uint64_t most_bytes =
			left_bytes < JIT_FINAL_ONE_BYTES ? left_bytes : JIT_FINAL_ONE_BYTES;
		uint64_t unused_bytes = most_bytes;
		int err = process_image_get_code(*image)->jit.is_followed
				  ? search_jit_files(table, *image, &unused_bytes)
				  : read_jit_files(table, *image, &unused_bytes);

		if (err)
			return err;
		left_bytes -= most_bytes - unused_bytes;
	}
	return 0;
}

uint64_t process_get_code_version(const struct process *process, uint64_t time_ns)
{
	const struct process_image *image = (const struct process_image *)process;

	return jit_files_get_version(&process_image_get_code(image)->jit, time_ns);
}

const char *process_find_code(const struct process *process, uint64_t pc, uint64_t time_ns)
{
	const struct process_image *image = (const struct process_image *)process;

	return jit_files_find(&process_image_get_code(image)->jit, pc, time_ns);
}

const char *process_find_first_code(const struct process *process, uint64_t pc)
{
	const struct process_image *image = (const struct process_image *)process;

	return jit_files_find_first(&process_image_get_code(image)->jit, pc);
}

bool process_table_is_generated(const struct process_table *table, const struct process *process,
				uint64_t pc)
{
	const struct mapping *mapping = process_find_mapping(process, pc);

	return !mapping || mapping->file == FILE_NONE ||
	       jit_runtime_is_memory(table->files, mapping);
}

bool process_table_has_trampolines(const struct process_table *table, const struct process *process)
{
	const struct process_image *image = (const struct process_image *)process;

	return jit_runtime_has_trampolines(table->files, &process_image_get_code(image)->mappings);
}

bool process_table_keeps_frame_pointers(struct process_table *table, uint32_t id)
{
	struct process_image *image;

	assert(id < table->images.length);
	image = table->images.items[id];
	if (!image->is_runtime_known) {
		image->is_runtime_known = true;
		/* /proc/PID is the current image's. */
		image->keeps_frame_pointers =
			image == find_current(table, (pid_t)image->process.pid) &&
			jit_runtime_keeps_frame_pointers(table->proc_root,
							 (pid_t)image->process.pid, table->files,
							 &process_image_get_code(image)->mappings);
	}
	return image->keeps_frame_pointers;
}

struct process_table_stats process_table_get_stats(const struct process_table *table)
{
	return table->stats;
}
