#include "process/process_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "process/replaced_text.h"

struct process_image *process_image_new(uint32_t id, pid_t pid, uint64_t start_ns)
{
	struct process_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->process.id = id;
	image->process.pid = (uint32_t)pid;
	image->process.start_ns = start_ns;
	image->process.generation = GENERATION_UNKNOWN;
	return image;
}

const struct image_code *process_image_get_code(const struct process_image *image)
{
	static const struct image_code none = {.jit = {.perf_map_fd = -1, .jitdump_fd = -1}};

	return image->code ? image->code : &none;
}

struct image_code *process_image_use_code(struct process_image *image)
{
	if (image->code)
		return image->code;
	image->code = calloc(1, sizeof(*image->code));
	if (!image->code)
		return NULL;
	jit_files_init(&image->code->jit);
	image->code->base_version = image->process.mappings_version + 1;
	return image->code;
}

void process_image_forget_code(struct process_image *image)
{
	struct image_code *code = image->code;

	if (!code)
		return;
	jit_files_release(&code->jit);
	mapping_list_release(&code->mappings);
	mapping_list_release(&code->latest);
	mapping_list_release(&code->moved);
	mapping_list_release(&code->replaced);
	free(code);
	image->code = NULL;
}

/* A child shares its parent's until it gets another: all forks of a program have the same. */
struct command_line {
	size_t num_refs;
	size_t script; /* start of the script's name in the text */
	char text[];   /* the words, a NUL, the script's name, a NUL; each may be empty */
};

static struct command_line *get_command_line(const struct process_image *image)
{
	uintptr_t text = (uintptr_t)image->process.command_line;

	return text ? (struct command_line *)(text - offsetof(struct command_line, text)) : NULL;
}

static void unref_command_line(struct process_image *image)
{
	struct command_line *line = get_command_line(image);

	if (line && !--line->num_refs)
		free(line);
	image->process.command_line = NULL;
}

static void share_command_line(struct process_image *image, const struct process_image *parent)
{
	struct command_line *line = get_command_line(parent);

	if (line)
		line->num_refs++;
	image->process.command_line = parent->process.command_line;
}

void process_image_free(struct process_image *image)
{
	if (!image)
		return;
	process_image_forget_code(image);
	unref_command_line(image);
	free(image);
}

void process_image_set_comm(struct process_image *image, const char *comm)
{
	size_t length = strnlen(comm, COMM_SIZE - 1);

	memcpy(image->process.comm, comm, length);
	image->process.comm[length] = '\0';
}

static const char *get_script(const struct process_image *image)
{
	const struct command_line *line = get_command_line(image);

	return line ? line->text + line->script : "";
}

static int replace_command_line(struct process_image *image, const char *words, const char *script)
{
	size_t words_size = strlen(words) + 1;
	size_t script_size = strlen(script) + 1;
	struct command_line *line = malloc(sizeof(*line) + words_size + script_size);

	if (!line)
		return -ENOMEM;
	line->num_refs = 1;
	line->script = words_size;
	memcpy(line->text, words, words_size);
	memcpy(line->text + words_size, script, script_size);
	unref_command_line(image);
	image->process.command_line = line->text;
	return 0;
}

int process_image_set_command_line(struct process_image *image, const char *command_line)
{
	if (image->process.command_line && strcmp(image->process.command_line, command_line) == 0)
		return 0;
	return replace_command_line(image, command_line, get_script(image));
}

int process_image_set_script(struct process_image *image, const char *script)
{
	const char *words = image->process.command_line;

	if (strcmp(get_script(image), script) == 0)
		return 0;
	return replace_command_line(image, words ? words : "", script);
}

const char *process_get_script(const struct process *process)
{
	return get_script((const struct process_image *)process);
}

int process_image_inherit(struct process_image *image, struct process_image *parent)
{
	process_image_set_comm(image, parent->process.comm);
	image->process.parent_pid = parent->process.pid;
	image->process.generation = parent->process.generation;
	image->process.was_scanned = parent->process.was_scanned;
	image->process.mappings_version = parent->process.mappings_version;
	image->process.has_uid = parent->process.has_uid;
	image->process.uid = parent->process.uid;
	share_command_line(image, parent);
	if (!parent->code)
		return 0;
	if (!process_image_use_code(image))
		return -ENOMEM;
	image->code->base_version = parent->code->base_version;
	return mapping_list_share(&image->code->mappings, &parent->code->mappings);
}

/*
 * The age of a new mapping. If no code was known at its addresses, a walk by older mappings has found
 * no rules there.
 */
static uint32_t choose_age(const struct image_code *code, const struct mapping *mapping,
			   uint32_t version, bool *ret_is_replacing)
{
	uint32_t since;

	*ret_is_replacing = mapping_list_has_other_code(&code->mappings, mapping, &since);
	if (*ret_is_replacing)
		return version;
	return since > code->base_version ? since : code->base_version;
}

/* The mapping may have an age already. */
static int add_mapping(struct process_image *image, const struct mapping *mapping)
{
	struct image_code *code = process_image_use_code(image);
	uint32_t version = image->process.mappings_version + 1;
	struct mapping added = *mapping;
	bool is_replacing = false;
	bool is_changed;
	int err;

	if (!code)
		return -ENOMEM;
	if (!added.since)
		added.since = choose_age(code, mapping, version, &is_replacing);
	err = mapping_list_add(&code->mappings, &added, &is_changed);
	if (err)
		return err;
	if (is_changed)
		image->process.mappings_version = version;
	if (is_replacing && added.file != FILE_NONE)
		code->replacing_version = version;
	return 0;
}

static int add_mappings(struct process_image *image, const struct mapping_list *more)
{
	array_for_each (&more->sorted, mapping) {
		struct mapping added = *mapping;
		int err;

		added.since = 0;
		err = add_mapping(image, &added);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Apart from the list of all, mappings of the latest time are kept: an exec of the same time may
 * claim them (process_image_take_latest()).
 */
int process_image_map(struct process_image *image, uint64_t time_ns, const struct mapping *mapping)
{
	struct image_code *code = process_image_use_code(image);
	bool is_changed;
	int err;

	if (!code)
		return -ENOMEM;
	if (code->latest_ns != time_ns)
		code->latest.sorted.length = 0;
	code->latest_ns = time_ns;
	err = mapping_list_add(&code->latest, mapping, &is_changed);
	return err ? err : add_mapping(image, mapping);
}

/* The part of a file mapping that overlaps the memory; false: no overlap. */
static bool intersect(const struct mapping *mapping, const struct mapping *memory,
		      struct mapping *ret)
{
	if (mapping->file == FILE_NONE || mapping->end <= memory->start ||
	    mapping->start >= memory->end)
		return false;
	*ret = *mapping;
	if (ret->start < memory->start) {
		ret->file_offset += memory->start - ret->start;
		ret->start = memory->start;
	}
	if (ret->end > memory->end)
		ret->end = memory->end;
	return true;
}

/* Note the file mappings that this memory is about to cover. */
static int note_replaced(struct image_code *code, const struct mapping *memory)
{
	array_for_each (&code->mappings.sorted, mapping) {
		struct mapping part;
		bool is_changed;
		int err;

		if (!intersect(mapping, memory, &part))
			continue;
		err = mapping_list_add(&code->replaced, &part, &is_changed);
		if (err)
			return err;
	}
	return 0;
}

/* The age of a part of a file that may be mapped already; 0: it is not. */
static uint32_t get_age(const struct image_code *code, const struct mapping *part)
{
	const struct mapping *known = mapping_list_find_part(&code->mappings, part);

	return known ? known->since : 0;
}

int process_image_map_memory(struct process_image *image, uint64_t time_ns,
			     const struct mapping *mapping, const struct file_table *files)
{
	struct image_code *code = process_image_use_code(image);
	struct mapping_list copies = {0};
	bool is_covered = false;
	int err = code ? note_replaced(code, mapping) : -ENOMEM;

	if (err)
		return err;
	array_for_each (&code->replaced.sorted, replaced) {
		struct mapping part;
		bool is_changed;

		if (!intersect(replaced, mapping, &part) ||
		    !replaced_text_is_copy(files, (pid_t)image->process.pid, &part,
					   &code->num_looks))
			continue;
		part.since = get_age(code, &part);
		err = mapping_list_add(&copies, &part, &is_changed);
		if (err)
			break;
		is_covered |= part.start == mapping->start && part.end == mapping->end;
	}
	if (!err && !is_covered)
		err = process_image_map(image, time_ns, mapping);
	for (size_t i = 0; i < copies.sorted.length && !err; i++)
		err = process_image_map(image, time_ns, &copies.sorted.items[i]);
	mapping_list_release(&copies);
	return err;
}

int process_image_take_latest(struct process_image *image, const struct process_image *previous,
			      uint64_t time_ns)
{
	const struct image_code *code = process_image_get_code(previous);

	return code->latest_ns == time_ns ? add_mappings(image, &code->latest) : 0;
}

/*
 * An exiting process has no mappings any more, and a malformed line ends the reading early: in both
 * cases the known mappings stay.
 */
static int take_scanned(struct process_image *image, struct mapping_list *scanned, bool is_complete)
{
	struct image_code *code = process_image_use_code(image);
	uint32_t version = image->process.mappings_version + 1;
	struct mapping_list old;

	if (!code)
		return -ENOMEM;
	if (!is_complete || !scanned->sorted.length)
		return add_mappings(image, scanned);
	old = code->mappings;
	if (mapping_list_equals(&old, scanned))
		return 0;
	mapping_list_set_ages(scanned, &old, version);
	code->base_version = version;
	code->mappings = *scanned;
	*scanned = old;
	image->process.mappings_version = version;
	return 0;
}

uint32_t process_get_replacing_version(const struct process *process)
{
	return process_image_get_code((const struct process_image *)process)->replacing_version;
}

int process_keep_mappings(struct process *process, struct kept_mappings *ret)
{
	struct process_image *image = (struct process_image *)process;

	*ret = (struct kept_mappings){.version = process->mappings_version};
	return image->code ? mapping_list_share(&ret->list, &image->code->mappings) : 0;
}

void process_swap_mappings(struct process *process, struct kept_mappings *kept)
{
	struct process_image *image = (struct process_image *)process;
	struct image_code *code = process_image_use_code(image);
	struct mapping_list list;
	uint32_t version = process->mappings_version;

	if (!code) /* it is out of memory, and has no mappings at all */
		return;
	list = code->mappings;
	code->mappings = kept->list;
	kept->list = list;
	process->mappings_version = kept->version;
	kept->version = version;
	image->is_set_back = !image->is_set_back;
}

int process_image_read_moved(struct process_image *image, const char *proc_root,
			     struct file_table *files)
{
	const struct process *process = &image->process;
	struct image_code *code = process_image_use_code(image);
	int err;

	if (!code)
		return -ENOMEM;
	code->moved.sorted.length = 0;
	err = proc_mappings_read(proc_root, (pid_t)process->pid, (pid_t)process->parent_pid, files,
				 &code->moved);
	/* Older samples may be of a time, or even a program, without these mappings. */
	code->moved_ns = err && err != -EINVAL ? 0 : clock_now_ns();
	return err == -ENOMEM || err == -ETIMEDOUT ? err : 0;
}

int process_image_take_moved(struct process_image *image, uint64_t time_ns, bool *ret_is_changed)
{
	uint32_t version = image->process.mappings_version;
	struct image_code *code = image->code;
	int err = 0;

	*ret_is_changed = false;
	if (!code || !code->moved_ns || time_ns < code->moved_ns)
		return 0;
	code->moved_ns = 0;
	array_for_each (&code->moved.sorted, mapping) {
		if (!mapping_list_overlaps(&code->mappings, mapping->start, mapping->end))
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
	int err = entry->is_kernel_thread
			  ? 0
			  : proc_mappings_read(proc_root, (pid_t)process->pid,
					       (pid_t)entry->parent_pid, files, &scanned);

	if (err == -ENOMEM)
		return err;
	process_image_set_comm(image, entry->comm);
	process->parent_pid = entry->parent_pid;
	process->is_exited |= entry->is_zombie;
	image->proc_start_ns = entry->start_ns;
	/* The maps are unreadable or gone: keep the data from events. */
	if (err && err != -EINVAL)
		return 0;
	process->as_of_ns = as_of_ns;
	process->was_scanned = true;
	image->was_mapped_in_scan = scanned.sorted.length > 0;
	return take_scanned(image, &scanned, err == 0);
}
