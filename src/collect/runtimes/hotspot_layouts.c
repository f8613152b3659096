#include "collect/runtimes/hotspot_layouts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

/*
 * A process is asked for as long as it may take to start: if it touches a large heap first, that
 * takes minutes. The pauses grow with the time, so that these attempts take 20 minutes. A process
 * that never answers is given up then, and delays no other.
 */
#define MAX_ATTEMPTS 90
#define MIN_PAUSE_NS (10 * NS_PER_MS)
#define PAUSE_PART   8 /* of the time since it was asked first */
/*
 * Files asked for at each attempt: a process may have others mapped besides the one that it runs.
 */
#define MAX_FILES 4

struct asked_process {
	uint64_t first_ns; /* 0: not yet */
	uint64_t next_ns;  /* earliest time of the next attempt */
	unsigned int num_attempts;
	unsigned int num_files;        /* of the last attempt */
	uint32_t files[MAX_FILES];     /* likewise */
	uint32_t file;                 /* the file of the layout */
	struct hotspot_layout *layout; /* NULL: not read yet */
};

struct hotspot_layouts {
	const struct file_table *files;
	const struct elf_files *elf_files;
	ARRAY(struct asked_process) asked; /* by process id */
};

struct hotspot_layouts *hotspot_layouts_new(const struct file_table *files,
					    const struct elf_files *elf_files)
{
	struct hotspot_layouts *layouts = calloc(1, sizeof(*layouts));

	if (!layouts)
		return NULL;
	layouts->files = files;
	layouts->elf_files = elf_files;
	return layouts;
}

void hotspot_layouts_free(struct hotspot_layouts *layouts)
{
	if (!layouts)
		return;
	array_for_each (&layouts->asked, asked)
		free(asked->layout);
	array_release(&layouts->asked);
	free(layouts);
}

static const struct hotspot_build *get_build(const struct hotspot_layouts *layouts, uint32_t file)
{
	const struct runtime_build *build =
		file == FILE_NONE ? NULL
				  : elf_files_get_runtime(layouts->elf_files,
							  file_table_get(layouts->files, file));

	return build && build->runtime == WIRE_RUNTIME_HOTSPOT ? &build->hotspot : NULL;
}

static int find_bias(const struct hotspot_layouts *layouts, const struct mapping *mapping,
		     uint64_t *ret)
{
	const struct objfile_mapping mapped = {mapping->start, mapping->end, mapping->file_offset};
	const struct objfile_layout *layout;
	int err = elf_files_get_layout(layouts->elf_files,
				       file_table_get(layouts->files, mapping->file), &layout);

	return err ? err : objfile_layout_get_bias(layout, &mapped, ret);
}

struct process_memory hotspot_layouts_get_memory(const struct hotspot_layouts *layouts,
						 const struct process *process)
{
	return (struct process_memory){.opener = file_table_get_opener(layouts->files),
				       .pid = (pid_t)process->pid};
}

static void start_attempt(struct asked_process *asked, uint64_t now_ns)
{
	uint64_t pause_ns;

	if (!asked->first_ns)
		asked->first_ns = now_ns;
	pause_ns = (now_ns - asked->first_ns) / PAUSE_PART;
	asked->next_ns = now_ns + (pause_ns > MIN_PAUSE_NS ? pause_ns : MIN_PAUSE_NS);
	asked->num_attempts++;
	asked->num_files = 0;
}

/* Whether it is time to ask a process for a file. If so, count the attempt. */
static bool take_attempt(struct asked_process *asked, uint32_t file)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns >= asked->next_ns) {
		if (asked->num_attempts >= MAX_ATTEMPTS)
			return false;
		start_attempt(asked, now_ns);
	}
	for (unsigned int i = 0; i < asked->num_files; i++)
		if (asked->files[i] == file)
			return false;
	if (asked->num_files == MAX_FILES)
		return false;
	asked->files[asked->num_files++] = file;
	return true;
}

/* A pid of a process that has ended may be reused by now; after an exec it is the new image's. */
static void read_layout(struct hotspot_layouts *layouts, const struct process *process,
			uint32_t file, uint64_t bias)
{
	struct process_memory memory = hotspot_layouts_get_memory(layouts, process);
	struct hotspot_memory source = {.read = process_memory_read, .context = &memory};
	struct asked_process *asked = &layouts->asked.items[process->id];
	_cleanup_free_ struct hotspot_layout *layout = NULL;
	int err = -ENOMEM;

	if (asked->layout || process->is_exited || process->end_ns || !take_attempt(asked, file))
		return;
	layout = malloc(sizeof(*layout));
	if (layout)
		err = hotspot_read_layout(get_build(layouts, file), bias, &source, layout);
	if (err) {
		log_debug("the layout of HotSpot cannot be read in process %u: %d", process->pid,
			  err);
		return;
	}
	asked->file = file;
	asked->layout = return_ptr(layout);
}

enum hotspot_presence hotspot_layouts_read(struct hotspot_layouts *layouts,
					   const struct process *process,
					   const struct mapping *mapping,
					   const struct hotspot_layout **ret, uint64_t *ret_bias)
{
	const struct asked_process *asked;

	if (!get_build(layouts, mapping->file) || find_bias(layouts, mapping, ret_bias))
		return HOTSPOT_ABSENT;
	while (layouts->asked.length <= process->id)
		if (!array_add(&layouts->asked))
			return HOTSPOT_UNREAD;
	read_layout(layouts, process, mapping->file, *ret_bias);
	asked = &layouts->asked.items[process->id];
	if (!asked->layout)
		return asked->num_attempts < MAX_ATTEMPTS ? HOTSPOT_UNREAD : HOTSPOT_UNREADABLE;
	if (asked->file != mapping->file)
		return HOTSPOT_ABSENT;
	*ret = asked->layout;
	return HOTSPOT_READ;
}

const struct hotspot_layout *hotspot_layouts_find(struct hotspot_layouts *layouts,
						  const struct process *process)
{
	size_t count;
	const struct mapping *mappings = process_get_mappings(process, &count);

	for (size_t i = 0; i < count; i++) {
		const struct hotspot_layout *layout;
		uint64_t bias;

		if (hotspot_layouts_read(layouts, process, &mappings[i], &layout, &bias) ==
			    HOTSPOT_READ &&
		    layout->support == SUPPORT_KNOWN)
			return layout;
	}
	return NULL;
}
