#include "collect/trace/trace_processes.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"

/*
 * Maximum number of ancestors; a longer line is false: pids were reused while we were not
 * listening.
 */
#define MAX_ANCESTORS 64

/* The last image of each pid, by whose earlier ones a list goes back in time. */
struct pid_images {
	uint32_t pid;
	uint32_t last;
};
INTERN_TABLE(pid_image_table, struct pid_images, pid);

struct trace_processes {
	const struct process_table *table;
	struct timeline *timeline;
	uint32_t *ids;     /* the timeline's, by image; TIMELINE_NONE: it has none yet */
	uint32_t *earlier; /* by image: the previous image with its pid; TIMELINE_NONE */
	uint32_t *next;    /* by image: the one that an exec started; TIMELINE_NONE */
	bool *is_used;     /* by image: it and those after it are in the timeline */
	struct pid_image_table pids;
};

static int index_images(struct trace_processes *processes)
{
	for (uint32_t i = 0; i < process_table_get_count(processes->table); i++) {
		const struct process *process = process_table_get(processes->table, i);
		struct pid_images key = {.pid = process->pid, .last = TIMELINE_NONE};
		uint32_t item;
		int err = pid_image_table_intern(&processes->pids, &key, &item);

		if (err)
			return err;
		processes->ids[i] = processes->next[i] = TIMELINE_NONE;
		processes->earlier[i] = processes->pids.items[item].last;
		processes->pids.items[item].last = i;
		if (process->previous)
			processes->next[process->previous->id] = i;
	}
	return 0;
}

struct trace_processes *trace_processes_new(const struct process_table *table,
					    struct timeline *timeline)
{
	struct trace_processes *processes = calloc(1, sizeof(*processes));
	size_t count = process_table_get_count(table);

	if (!processes)
		return NULL;
	processes->table = table;
	processes->timeline = timeline;
	processes->ids = calloc(count + 1, sizeof(*processes->ids));
	processes->earlier = calloc(count + 1, sizeof(*processes->earlier));
	processes->next = calloc(count + 1, sizeof(*processes->next));
	processes->is_used = calloc(count + 1, sizeof(*processes->is_used));
	if (!processes->ids || !processes->earlier || !processes->next || !processes->is_used ||
	    index_images(processes)) {
		trace_processes_free(processes);
		return NULL;
	}
	return processes;
}

void trace_processes_free(struct trace_processes *processes)
{
	if (!processes)
		return;
	free(processes->ids);
	free(processes->earlier);
	free(processes->next);
	free(processes->is_used);
	pid_image_table_release(&processes->pids);
	free(processes);
}

/* The latest one started by then. */
uint32_t trace_processes_find(const struct trace_processes *processes, uint32_t pid,
			      uint64_t time_ns)
{
	uint32_t item = pid_image_table_find(&processes->pids, &(struct pid_images){.pid = pid});
	uint32_t image = TIMELINE_NONE;

	if (item != HASH_INDEX_NONE)
		image = processes->pids.items[item].last;
	while (image != TIMELINE_NONE &&
	       process_table_get(processes->table, image)->start_ns > time_ns)
		image = processes->earlier[image];
	return image;
}

uint32_t trace_processes_get(const struct trace_processes *processes, uint32_t image)
{
	return processes->ids[image];
}

/*
 * An end is moved after all events: an exit is followed by a last moment in the kernel, and the
 * next image starts with an exec.
 */
static uint64_t get_end(const struct trace_processes *processes, const struct process *process)
{
	if (!process->end_ns)
		return 0;
	return processes->next[process->id] == TIMELINE_NONE ? process->end_ns + 1
							     : process->end_ns - 1;
}

int trace_processes_describe(const struct trace_processes *processes, uint32_t image,
			     struct timeline_process *process)
{
	const struct process *known = process_table_get(processes->table, image);

	process->start_ns = known->start_ns;
	process->end_ns = get_end(processes, known);
	process->parent_pid = known->parent_pid;
	process->has_uid = known->has_uid;
	process->uid = known->uid;
	if (!known->command_line)
		return 0;
	return timeline_add_string(processes->timeline, known->command_line,
				   &process->command_line);
}

static int add_process(struct trace_processes *processes, uint32_t image)
{
	const struct process *known = process_table_get(processes->table, image);
	struct timeline_process added = {.pid = known->pid};
	int err = timeline_add_string(processes->timeline, known->comm, &added.name);

	if (err)
		return err;
	err = trace_processes_describe(processes, image, &added);
	if (err)
		return err;
	return timeline_add_process(processes->timeline, &added, &processes->ids[image]);
}

/* Together with the images that replaced it by execs, as its end is the start of the next. */
static int add_with_next(struct trace_processes *processes, uint32_t image)
{
	for (; image != TIMELINE_NONE && !processes->is_used[image];
	     image = processes->next[image]) {
		int err =
			processes->ids[image] == TIMELINE_NONE ? add_process(processes, image) : 0;

		if (err)
			return err;
		processes->is_used[image] = true;
	}
	return 0;
}

int trace_processes_use(struct trace_processes *processes, uint32_t image, uint32_t *ret)
{
	uint32_t ancestor = image;

	for (size_t i = 0;
	     i < MAX_ANCESTORS && ancestor != TIMELINE_NONE && !processes->is_used[ancestor]; i++) {
		const struct process *known = process_table_get(processes->table, ancestor);
		int err = add_with_next(processes, ancestor);

		if (err)
			return err;
		ancestor = known->parent_pid ? trace_processes_find(processes, known->parent_pid,
								    known->start_ns)
					     : TIMELINE_NONE;
	}
	*ret = processes->ids[image];
	return 0;
}

void trace_processes_set(struct trace_processes *processes, uint32_t image, uint32_t process)
{
	processes->ids[image] = process;
}

void trace_processes_adopt(struct trace_processes *processes)
{
	for (uint32_t i = 0; i < timeline_count_process(processes->timeline); i++) {
		const struct timeline_process *process =
			timeline_get_process(processes->timeline, i);
		uint32_t image = trace_processes_find(processes, process->pid, process->start_ns);

		if (image != TIMELINE_NONE &&
		    process_table_get(processes->table, image)->start_ns == process->start_ns)
			processes->ids[image] = i;
	}
}

/*
 * The first thread's end is reported before its last moments in the kernel, and while other threads
 * go on. (A sample from inside an exec is of the image before, whatever its time.)
 */
void trace_processes_note_alive(const struct trace_processes *processes, uint32_t image,
				uint64_t time_ns)
{
	struct timeline_process *process;

	if (processes->ids[image] == TIMELINE_NONE || processes->next[image] != TIMELINE_NONE)
		return;
	process = timeline_get_process(processes->timeline, processes->ids[image]);
	if (process->end_ns && process->end_ns <= time_ns)
		process->end_ns = time_ns + 1;
}

bool trace_processes_has(const struct trace_processes *processes, uint32_t image)
{
	return processes->ids[image] != TIMELINE_NONE;
}
