/*
 * What is known of a process comes from two sides: events, which are exact but begin late, and
 * /proc, which knows everything but only of the moment in which it is read. A scan is therefore
 * stamped with a time read before it (as_of_ns): events older than the stamp are in the scan
 * already, younger ones are applied to it. Events of the time while /proc was being read come
 * twice, which does no harm: each sets a state that was true at its own time, and the last one
 * sets the state at the end.
 */
#include "process/process_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/log.h"
#include "process/perf_map.h"
#include "process/proc_scan.h"
#include "process/process_image.h"

#define PERF_MAP_RETRY_NS (100 * NS_PER_MS)

struct pid_slot {
	uint32_t pid;
	struct process_image *current; /* NULL: not known (any more) */
};
INTERN_TABLE(pid_table, struct pid_slot, pid);

struct process_table {
	char *proc_root;
	struct file_table *files;
	ARRAY(struct process_image *) images;
	struct pid_table slots;
	ARRAY(uint32_t) changed; /* ids, in order of their change */
	size_t num_taken;        /* of changed, from its start */
	struct process_table_stats stats;
};

struct process_table *process_table_new(const char *proc_root, struct file_table *files)
{
	struct process_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->files = files;
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
	array_release(&table->changed);
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

/* The pid belongs to another process now. */
static void forget_current(struct process_table *table, pid_t pid)
{
	struct pid_slot *slot = find_slot(table, pid);

	if (!slot || !slot->current)
		return;
	slot->current->process.is_exited = true;
	/* Out of memory, what was published of it is not taken back, which does no harm. */
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

/* The same process runs another program from time_ns on. NULL when out of memory. */
static struct process_image *start_next_image(struct process_table *table,
					      struct process_image *previous, uint64_t time_ns)
{
	struct process_image *next = start_image(table, (pid_t)previous->process.pid, time_ns);

	if (!next)
		return NULL;
	next->process.previous = &previous->process;
	next->process.parent_pid = previous->process.parent_pid;
	next->proc_start_ns = previous->proc_start_ns;
	return next;
}

/* Whether /proc shows another process than the one that had this pid. */
static bool is_other_process(const struct process_image *image, const struct proc_entry *entry)
{
	if (image->proc_start_ns && entry->start_ns)
		return image->proc_start_ns != entry->start_ns;
	if (entry->start_ns > image->process.start_ns)
		return true;
	return image->process.is_exited && !entry->is_zombie;
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
	return process_image_refresh(image, table->proc_root, table->files, &entry, as_of_ns);
}

static int scan_visited(pid_t pid, void *context)
{
	int err = process_table_scan_pid(context, pid);

	/* Processes end while we read, and not everything may be read. */
	return err == -ENOMEM ? err : 0;
}

int process_table_scan(struct process_table *table)
{
	return proc_for_each_pid(table->proc_root, scan_visited, table);
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

/* Older than the scan, which has seen its effect. */
static bool is_known_already(const struct process_image *image, uint64_t time_ns)
{
	return time_ns < image->process.as_of_ns;
}

/*
 * A fork by a process that nobody told us of. The child's own entry in /proc says most; when the
 * child is gone, that of its parent must do.
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
	const struct process_image *parent;
	struct process_image *child;

	table->stats.forks++;
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
		/* The counter was learnt from a sample that is older still. */
		if (!is_exec || image->process.generation == GENERATION_UNKNOWN)
			return 0;
		image->process.generation++;
		return note_change(table, image);
	}
	/* Of a process that was never seen before, the first image is the one after the exec. */
	if (is_exec && is_known)
		return on_exec(table, time_ns, image, comm);
	process_image_set_comm(image, comm);
	return 0;
}

int process_table_on_mmap(struct process_table *table, uint64_t time_ns, pid_t pid, uint64_t start,
			  uint64_t end, uint64_t file_offset, const struct file_identity *identity)
{
	struct mapping mapping = {.start = start, .end = end};
	struct process_image *image;
	int err = find_or_read(table, time_ns, pid, &image);

	if (err)
		return err;
	if (is_known_already(image, time_ns) || start >= end)
		return 0;
	err = file_table_add(table->files, pid, (pid_t)image->process.parent_pid, start, end,
			     identity, &mapping.file);
	if (err)
		return err;
	/* Events count the pages of anonymous memory from address 0, maps does not count them. */
	if (mapping.file != FILE_NONE)
		mapping.file_offset = file_offset;
	err = note_change(table, image);
	return err ? err : process_image_map(image, time_ns, &mapping);
}

static void try_perf_map(struct process_table *table, struct process_image *image)
{
	struct error error = {0};
	int err = perf_map_open(table->proc_root, (pid_t)image->process.pid,
				&image->process.perf_map_fd, &error);

	if (err && err != -ENOENT)
		log_debug("%s, skipping", error.message);
}

int process_table_on_exit(struct process_table *table, uint64_t time_ns, pid_t pid)
{
	struct process_image *image = find_current(table, pid);

	table->stats.exits++;
	/* An exit before the image's start is that of an earlier process with this pid. */
	if (!image || time_ns < image->process.start_ns)
		return 0;
	image->process.is_exited = true;
	/* The last moment at which the process can be asked where its perf-map is. */
	if (image->wants_perf_map && image->process.perf_map_fd < 0)
		try_perf_map(table, image);
	return note_change(table, image);
}

/* A sample says that there was an exec of which no event came. */
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

/* The image that pid ran when its exec counter stood at generation, as far as it is known. */
static struct process *find_earlier(struct process *process, uint64_t generation)
{
	do {
		process = process->previous;
	} while (process->previous && process->generation != GENERATION_UNKNOWN &&
		 process->generation > generation);
	return process;
}

int process_table_find(struct process_table *table, uint64_t time_ns, pid_t pid,
		       uint64_t generation, struct process **ret, bool *ret_is_in_exec)
{
	struct process_image *image;
	struct process *process;
	int err = find_or_read(table, time_ns, pid, &image);

	if (err)
		return err;
	process = &image->process;
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
	const struct process_image *image = (const struct process_image *)process;

	*ret_count = image->mappings.sorted.length;
	return image->mappings.sorted.items;
}

const struct mapping *process_find_mapping(const struct process *process, uint64_t pc)
{
	const struct process_image *image = (const struct process_image *)process;

	return mapping_list_find(&image->mappings, pc);
}

void process_table_open_perf_map(struct process_table *table, uint64_t time_ns, uint32_t id)
{
	struct process_image *image;

	assert(id < table->images.length);
	image = table->images.items[id];
	/* An earlier image's code is gone, and with it the process that could be asked. */
	if (image != find_current(table, (pid_t)image->process.pid))
		return;
	image->wants_perf_map = true;
	if (image->process.perf_map_fd >= 0 || time_ns < image->next_perf_map_ns)
		return;
	image->next_perf_map_ns = time_ns + PERF_MAP_RETRY_NS;
	try_perf_map(table, image);
}

void process_table_finish_perf_maps(struct process_table *table)
{
	array_for_each (&table->images, image)
		if ((*image)->wants_perf_map && (*image)->process.perf_map_fd < 0)
			try_perf_map(table, *image);
}

struct process_table_stats process_table_get_stats(const struct process_table *table)
{
	return table->stats;
}
