#include "process/process_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct process_image *process_image_new(uint32_t id, pid_t pid, uint64_t start_ns)
{
	struct process_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->process.id = id;
	image->process.pid = (uint32_t)pid;
	image->process.start_ns = start_ns;
	image->process.generation = GENERATION_UNKNOWN;
	jit_files_init(&image->jit);
	return image;
}

void process_image_forget_code(struct process_image *image)
{
	jit_files_release(&image->jit);
	mapping_list_release(&image->mappings);
	mapping_list_release(&image->latest);
	mapping_list_release(&image->moved);
}

void process_image_free(struct process_image *image)
{
	if (!image)
		return;
	process_image_forget_code(image);
	free(image->command_line);
	free(image);
}

void process_image_set_comm(struct process_image *image, const char *comm)
{
	size_t length = strnlen(comm, COMM_SIZE - 1);

	memcpy(image->process.comm, comm, length);
	image->process.comm[length] = '\0';
}

int process_image_set_command_line(struct process_image *image, const char *command_line)
{
	char *copy = command_line ? strdup(command_line) : NULL;

	if (command_line && !copy)
		return -ENOMEM;
	free(image->command_line);
	image->process.command_line = image->command_line = copy;
	return 0;
}

int process_image_inherit(struct process_image *image, struct process_image *parent)
{
	process_image_set_comm(image, parent->process.comm);
	image->process.parent_pid = parent->process.pid;
	image->process.generation = parent->process.generation;
	image->process.was_scanned = parent->process.was_scanned;
	image->process.has_uid = parent->process.has_uid;
	image->process.uid = parent->process.uid;
	if (process_image_set_command_line(image, parent->command_line))
		return -ENOMEM;
	return mapping_list_share(&image->mappings, &parent->mappings);
}

static int add_mapping(struct process_image *image, const struct mapping *mapping)
{
	bool is_changed;
	int err = mapping_list_add(&image->mappings, mapping, &is_changed);

	if (err)
		return err;
	if (is_changed)
		image->process.mappings_version++;
	return 0;
}

static int add_mappings(struct process_image *image, const struct mapping_list *more)
{
	array_for_each (&more->sorted, mapping) {
		int err = add_mapping(image, mapping);

		if (err)
			return err;
	}
	return 0;
}

/*
 * Beside the list of all, those of the latest moment are kept: an exec of the same time may claim
 * them (process_image_take_latest()).
 */
int process_image_map(struct process_image *image, uint64_t time_ns, const struct mapping *mapping)
{
	bool is_changed;
	int err;

	if (image->latest_ns != time_ns)
		image->latest.sorted.length = 0;
	image->latest_ns = time_ns;
	err = mapping_list_add(&image->latest, mapping, &is_changed);
	return err ? err : add_mapping(image, mapping);
}

int process_image_take_latest(struct process_image *image, const struct process_image *previous,
			      uint64_t time_ns)
{
	return previous->latest_ns == time_ns ? add_mappings(image, &previous->latest) : 0;
}

/*
 * An exiting process has no mappings any more, and a malformed line ends the reading early: in both
 * cases the mappings that were known stay.
 */
static int take_scanned(struct process_image *image, struct mapping_list *scanned, bool is_complete)
{
	struct mapping_list old = image->mappings;

	if (!is_complete || !scanned->sorted.length)
		return add_mappings(image, scanned);
	if (mapping_list_equals(&old, scanned))
		return 0;
	image->mappings = *scanned;
	*scanned = old;
	image->process.mappings_version++;
	return 0;
}

int process_image_read_moved(struct process_image *image, const char *proc_root,
			     struct file_table *files)
{
	const struct process *process = &image->process;
	int err;

	image->moved.sorted.length = 0;
	err = proc_mappings_read(proc_root, (pid_t)process->pid, (pid_t)process->parent_pid, files,
				 &image->moved);
	/* Older samples may be of a time, even of a program, that did not have these mappings. */
	image->moved_ns = err && err != -EINVAL ? 0 : clock_now_ns();
	return err == -ENOMEM ? err : 0;
}

int process_image_take_moved(struct process_image *image, uint64_t time_ns, bool *ret_is_changed)
{
	uint32_t version = image->process.mappings_version;
	int err = 0;

	*ret_is_changed = false;
	if (!image->moved_ns || time_ns < image->moved_ns)
		return 0;
	image->moved_ns = 0;
	array_for_each (&image->moved.sorted, mapping) {
		if (!mapping_list_overlaps(&image->mappings, mapping->start, mapping->end))
			err = add_mapping(image, mapping);
		if (err)
			return err;
	}
	*ret_is_changed = image->process.mappings_version != version;
	return 0;
}

int process_image_refresh(struct process_image *image, const char *proc_root,
			  struct file_table *files, const struct proc_entry *entry,
			  uint64_t as_of_ns)
{
	struct process *process = &image->process;
	_cleanup_(mapping_list_release) struct mapping_list scanned = {0};
	int err = proc_mappings_read(proc_root, (pid_t)process->pid, (pid_t)entry->parent_pid,
				     files, &scanned);

	if (err == -ENOMEM)
		return err;
	process_image_set_comm(image, entry->comm);
	process->parent_pid = entry->parent_pid;
	process->is_exited |= entry->is_zombie;
	image->proc_start_ns = entry->start_ns;
	/* The maps may not be read, or are gone: what events have told stays. */
	if (err && err != -EINVAL)
		return 0;
	process->as_of_ns = as_of_ns;
	process->was_scanned = true;
	image->was_mapped_in_scan = scanned.sorted.length > 0;
	return take_scanned(image, &scanned, err == 0);
}
