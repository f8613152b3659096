/*
 * Processes as the records show them, each at the time of its record.
 *
 * A task is a thread of the kernel, by tid; an image is the program that a process runs, by pid. An
 * exec gives a process a new image under the same number: its mappings go, and the profile's
 * process is left behind with the samples that it has; the next sample makes another. A fork copies
 * the mappings of the parent; an image without living tasks needs none any more, which bounds the
 * memory on a machine that forks all day.
 *
 * Modules are files by path and build ID. The build ID is in the record of the mapping, if the
 * kernel reported it (5.12 and later, with --buildid-mmap). Otherwise it is in the list at the end
 * of the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "formats/perf/data.h"

/* As many as the kernel lets a process have by default are four times this. */
#define MAX_MAPPINGS      16384
#define FREE_MAPPINGS     (1u << 20) /* of all processes; more if the input is large */
#define BYTES_PER_MAPPING 16
#define INODE_BYTES       24 /* in PERF_MMAP2, or as many of a build ID */
#define DELETED_SUFFIX    " (deleted)"
#define LISTED_ID_BYTES   24 /* of PERF_BUILD_ID: 20 and their number */
#define LISTED_ID_SIZE_AT 20
#define COMM_BYTES_MAX    64

void perf_tasks_init(struct perf_tasks *tasks, struct import *import)
{
	*tasks = (struct perf_tasks){
		.import = import,
		.max_mappings = FREE_MAPPINGS + import->size / BYTES_PER_MAPPING,
	};
}

void perf_tasks_release(struct perf_tasks *tasks)
{
	array_for_each (&tasks->images, image)
		array_release(&image->mappings);
	perf_images_release(&tasks->images);
	perf_task_table_release(&tasks->tasks);
	perf_modules_release(&tasks->modules);
	perf_build_ids_release(&tasks->build_ids);
}

/* ---- modules ---- */

static uint32_t find_listed(const struct perf_tasks *tasks, uint32_t path)
{
	return perf_build_ids_find(&tasks->build_ids, &(struct perf_module){.path = path});
}

/* A build ID of zeros means no build ID. */
static void set_build_id(uint8_t *id, uint8_t *id_size, const void *from, size_t size)
{
	if (size > BUILD_ID_MAX_BYTES || bytes_are_zero(from, size))
		size = 0;
	memcpy(id, from, size);
	*id_size = (uint8_t)size;
}

/* A file that was deleted meanwhile is looked for under its name all the same. */
static int add_path(struct perf_tasks *tasks, const char *path, uint32_t *ret)
{
	size_t length = strlen(path);

	if (string_ends_with(path, DELETED_SUFFIX))
		length -= strlen(DELETED_SUFFIX);
	return string_table_add(profile_get_strings(tasks->import->profile), path, length, ret);
}

static bool is_kernel(const char *path)
{
	return string_starts_with(path, "[kernel.kallsyms]") ||
	       string_starts_with(path, "[kernel]");
}

int perf_tasks_add_build_id(struct perf_tasks *tasks, const struct perf_record *record)
{
	struct import_kernel *kernel = &tasks->import->kernel;
	struct bytes body = record->body;
	struct perf_module listed = {0};
	uint32_t item;
	const uint8_t *id;
	const char *path;
	size_t size;
	int err;

	bytes_skip(&body, 4); /* pid: -1, or that of a guest machine */
	id = bytes_take(&body, LISTED_ID_BYTES);
	path = bytes_string(&body);
	if (!path)
		return 0;
	size = record->misc & PERF_MISC_ID_SIZE ? id[LISTED_ID_SIZE_AT] : BUILD_ID_MAX_BYTES;
	set_build_id(listed.build_id, &listed.build_id_size, id, size);
	if (is_kernel(path)) {
		memcpy(kernel->build_id, listed.build_id, sizeof(kernel->build_id));
		kernel->build_id_size = listed.build_id_size;
		return 0;
	}
	err = add_path(tasks, path, &listed.path);
	if (err || !listed.build_id_size)
		return err;
	return perf_build_ids_intern(&tasks->build_ids, &listed, &item);
}

/* The profile's module of a file. `wanted` has its build ID, if the record did. */
static int add_module(struct perf_tasks *tasks, struct perf_module *wanted)
{
	struct module module = {.path = wanted->path};
	uint32_t listed = find_listed(tasks, wanted->path);
	uint32_t item;
	int err;

	if (!wanted->build_id_size && listed != HASH_INDEX_NONE)
		*wanted = tasks->build_ids.items[listed];
	item = perf_modules_find(&tasks->modules, wanted);
	if (item != HASH_INDEX_NONE) {
		wanted->module = tasks->modules.items[item].module;
		return 0;
	}
	memcpy(module.build_id, wanted->build_id, wanted->build_id_size);
	module.build_id_size = wanted->build_id_size;
	err = profile_add_module(tasks->import->profile, &module, &wanted->module);
	if (err)
		return err;
	return perf_modules_add(&tasks->modules, wanted, &item);
}

/* ---- images and tasks ---- */

static uint32_t find_image(const struct perf_tasks *tasks, uint32_t pid)
{
	return perf_images_find(&tasks->images, &(struct perf_image){.pid = pid});
}

static int get_image(struct perf_tasks *tasks, uint32_t pid, uint32_t *ret)
{
	struct perf_image wanted = {.pid = pid, .process = PERF_NONE};

	return perf_images_intern(&tasks->images, &wanted, ret);
}

static void clear_mappings(struct perf_tasks *tasks, struct perf_image *image)
{
	tasks->num_mappings -= image->mappings.length;
	array_release(&image->mappings);
}

static struct perf_task *find_task(const struct perf_tasks *tasks, uint32_t tid)
{
	uint32_t item = perf_task_table_find(&tasks->tasks, &(struct perf_task){.tid = tid});

	return item == HASH_INDEX_NONE ? NULL : &tasks->tasks.items[item];
}

/* The task, in the image of its process. A number that is used again is another task. */
static int get_task(struct perf_tasks *tasks, uint32_t pid, uint32_t tid, struct perf_task **ret)
{
	struct perf_task wanted = {.tid = tid, .image = PERF_NONE};
	struct perf_task *task;
	uint32_t image;
	uint32_t item;
	int err = get_image(tasks, pid, &image);

	if (err)
		return err;
	err = perf_task_table_intern(&tasks->tasks, &wanted, &item);
	if (err)
		return err;
	task = &tasks->tasks.items[item];
	if (task->image != image) {
		if (task->image != PERF_NONE && !task->is_exited)
			tasks->images.items[task->image].num_tasks--;
		*task = (struct perf_task){tid, image, STRING_NONE, PERF_NONE, false};
		tasks->images.items[image].num_tasks++;
	}
	*ret = task;
	return 0;
}

int perf_tasks_on_comm(struct perf_tasks *tasks, const struct perf_record *record)
{
	struct bytes body = record->body;
	uint32_t pid = bytes_u32(&body);
	uint32_t tid = bytes_u32(&body);
	const char *name = bytes_string(&body);
	struct perf_image *image;
	struct perf_task *task;
	uint32_t comm;
	int err;

	if (!name)
		return -EBADMSG;
	err = get_task(tasks, pid, tid, &task);
	if (err)
		return err;
	err = profile_add_frame_name(tasks->import->profile, name, strnlen(name, COMM_BYTES_MAX),
				     &comm);
	if (err)
		return err;
	image = &tasks->images.items[task->image];
	if (record->misc & PERF_MISC_COMM_EXEC) {
		clear_mappings(tasks, image);
		image->process = PERF_NONE;
	}
	/* A thread of the profile has one name: under a new one there will be a new thread. */
	task->comm = comm;
	task->thread = PERF_NONE;
	if (image->process != PERF_NONE && task->tid == image->pid)
		profile_set_process_comm(tasks->import->profile, image->process, comm);
	return 0;
}

/* The child has its parent's mappings, as long as there is room for that. */
static int inherit(struct perf_tasks *tasks, uint32_t child, uint32_t parent)
{
	struct perf_image *to = &tasks->images.items[child];
	const struct perf_image *from = &tasks->images.items[parent];
	size_t count = from->mappings.length;

	clear_mappings(tasks, to);
	to->process = PERF_NONE;
	if (!count)
		return 0;
	if (tasks->num_mappings + count > tasks->max_mappings) {
		if (!tasks->has_emitted_mappings)
			import_warn(tasks->import,
				    "too many mappings: code of some processes remains unknown");
		tasks->has_emitted_mappings = true;
		return 0;
	}
	if (array_reserve(&to->mappings, count))
		return -ENOMEM;
	memcpy(to->mappings.items, from->mappings.items, count * sizeof(*from->mappings.items));
	to->mappings.length = count;
	tasks->num_mappings += count;
	return 0;
}

static void end_task(struct perf_tasks *tasks, struct perf_task *task)
{
	struct perf_image *image = &tasks->images.items[task->image];

	if (task->is_exited)
		return;
	task->is_exited = true;
	if (--image->num_tasks == 0)
		clear_mappings(tasks, image);
}

int perf_tasks_on_fork(struct perf_tasks *tasks, const struct perf_record *record)
{
	struct bytes body = record->body;
	uint32_t pid = bytes_u32(&body);
	uint32_t parent_pid = bytes_u32(&body);
	uint32_t tid = bytes_u32(&body);
	uint32_t parent_tid = bytes_u32(&body);
	const struct perf_task *parent;
	struct perf_task *task;
	uint32_t parent_image;
	int err;

	if (body.failed)
		return -EBADMSG;
	err = get_task(tasks, pid, tid, &task);
	if (err)
		return err;
	if (task->is_exited)
		tasks->images.items[task->image].num_tasks++;
	parent = find_task(tasks, parent_tid);
	task->is_exited = false;
	task->thread = PERF_NONE;
	if (parent && parent != task)
		task->comm = parent->comm;
	if (pid == parent_pid)
		return 0;
	parent_image = find_image(tasks, parent_pid);
	return parent_image == HASH_INDEX_NONE ? 0 : inherit(tasks, task->image, parent_image);
}

int perf_tasks_on_exit(struct perf_tasks *tasks, const struct perf_record *record)
{
	struct bytes body = record->body;
	struct perf_task *task;

	bytes_skip(&body, 8); /* pid and its parent's */
	task = find_task(tasks, bytes_u32(&body));
	if (body.failed)
		return -EBADMSG;
	if (task)
		end_task(tasks, task);
	return 0;
}

static int find_process(struct perf_tasks *tasks, struct perf_image *image)
{
	const struct perf_task *leader = find_task(tasks, image->pid);
	uint32_t comm = leader && leader->comm != STRING_NONE ? leader->comm : STRING_EMPTY;

	if (image->process != PERF_NONE)
		return 0;
	return profile_add_process(tasks->import->profile, image->pid, comm, &image->process);
}

/* The name of a task that no record names: as perf calls it. */
static int add_usual_comm(struct perf_tasks *tasks, uint32_t tid, uint32_t *ret)
{
	char name[16];

	snprintf(name, sizeof(name), ":%d", (int)tid);
	return profile_add_string(tasks->import->profile, tid ? name : "swapper", ret);
}

int perf_tasks_find(struct perf_tasks *tasks, uint32_t pid, uint32_t tid, uint32_t *ret_thread,
		    const struct perf_image **ret_image)
{
	struct profile *profile = tasks->import->profile;
	struct perf_image *image;
	struct perf_task *task;
	int err = get_task(tasks, pid, tid, &task);

	if (err)
		return err;
	if (task->comm == STRING_NONE) {
		err = add_usual_comm(tasks, tid, &task->comm);
		if (err)
			return err;
	}
	image = &tasks->images.items[task->image];
	if (task->thread == PERF_NONE || image->process == PERF_NONE ||
	    profile_get_thread(profile, task->thread)->process != image->process) {
		struct thread thread = {
			.tid = tid, .comm = task->comm, .source = tasks->import->source};

		err = find_process(tasks, image);
		if (err)
			return err;
		thread.process = image->process;
		err = profile_add_thread(profile, &thread, &task->thread);
		if (err)
			return err;
	}
	*ret_thread = task->thread;
	*ret_image = image;
	return 0;
}

/* ---- mappings ---- */

/* Index of the first mapping that ends after the address; the number of mappings if not found. */
static size_t find_ending_after(const struct perf_image *image, uint64_t address)
{
	return array_count_front(&image->mappings, mapping, mapping->end <= address);
}

const struct import_mapping *perf_image_find_mapping(const struct perf_image *image, uint64_t pc)
{
	size_t i = find_ending_after(image, pc);

	if (i == image->mappings.length || pc < image->mappings.items[i].start)
		return NULL;
	return &image->mappings.items[i];
}

/* A part of a mapping. */
static struct import_mapping slice(const struct import_mapping *mapping, uint64_t start,
				   uint64_t end)
{
	struct import_mapping part = *mapping;

	part.file_offset += start - mapping->start;
	part.start = start;
	part.end = end;
	return part;
}

/*
 * Insert a mapping. Mappings that it overlaps are gone, for unmapping is never reported: the first
 * and the last of these may keep a part before and behind it.
 *
 *	before  |--a--|  |--b--|  |--c--|
 *	new          |---------------|
 *	after   |-a--|------new------|-c|
 */
static int map(struct perf_tasks *tasks, struct perf_image *image,
	       const struct import_mapping *mapping)
{
	size_t first = find_ending_after(image, mapping->start);
	size_t length = image->mappings.length;
	size_t next = first; /* behind the new mapping */
	struct import_mapping slices[3];
	size_t num_chunks = 0;
	struct import_mapping *items;

	/* Skipped silently: its code would just be unknown. */
	if (length + 2 > MAX_MAPPINGS || tasks->num_mappings + 2 > tasks->max_mappings)
		return 0;
	if (array_reserve(&image->mappings, length + 2))
		return -ENOMEM;
	items = image->mappings.items;
	while (next < length && items[next].start < mapping->end)
		next++;
	if (next > first && items[first].start < mapping->start)
		slices[num_chunks++] = slice(&items[first], items[first].start, mapping->start);
	slices[num_chunks++] = *mapping;
	if (next > first && items[next - 1].end > mapping->end)
		slices[num_chunks++] = slice(&items[next - 1], mapping->end, items[next - 1].end);
	memmove(items + first + num_chunks, items + next, (length - next) * sizeof(*items));
	memcpy(items + first, slices, num_chunks * sizeof(*items));
	image->mappings.length = length - (next - first) + num_chunks;
	tasks->num_mappings += image->mappings.length;
	tasks->num_mappings -= length;
	return 0;
}

/* The kernel's names for memory that no file backs; the vdso is a file, if of its own kind. */
static bool is_memory(const char *path)
{
	if (string_equals(path, "[vdso]"))
		return false;
	return path[0] != '/' || string_equals(path, "//anon") ||
	       string_starts_with(path, "/dev/zero") ||
	       string_starts_with(path, "/anon_hugepage") || string_starts_with(path, "/SYSV") ||
	       string_starts_with(path, "/memfd:");
}

/*
 * A mapping of the kernel itself. Mappings of kernel modules do not matter: kallsyms knows them.
 * The first mapping of the kernel has its text's address as its file offset.
 */
static void note_kernel(struct perf_tasks *tasks, const char *path, uint64_t text,
			const struct perf_module *module)
{
	struct import_kernel *kernel = &tasks->import->kernel;

	if (!is_kernel(path) || kernel->text)
		return;
	kernel->text = text;
	if (!module->build_id_size)
		return;
	memcpy(kernel->build_id, module->build_id, sizeof(kernel->build_id));
	kernel->build_id_size = module->build_id_size;
}

static int map_file(struct perf_tasks *tasks, uint32_t pid, const char *path,
		    struct perf_module *module, struct import_mapping *mapping)
{
	uint32_t image;
	int err = get_image(tasks, pid, &image);

	if (err)
		return err;
	mapping->module = IMPORT_NO_MODULE;
	if (!is_memory(path)) {
		err = add_path(tasks, path, &module->path);
		if (err)
			return err;
		err = add_module(tasks, module);
		if (err)
			return err;
		mapping->module = module->module;
	}
	return map(tasks, &tasks->images.items[image], mapping);
}

int perf_tasks_on_mmap(struct perf_tasks *tasks, const struct perf_record *record)
{
	unsigned int mode = record->misc & PERF_MISC_CPU_MODE;
	struct bytes body = record->body;
	struct import_mapping mapping = {0};
	struct perf_module module = {0};
	uint32_t pid = bytes_u32(&body);
	const uint8_t *identity = NULL;
	const char *path;

	bytes_skip(&body, 4); /* tid */
	mapping.start = bytes_u64(&body);
	mapping.end = bytes_u64(&body);
	mapping.file_offset = bytes_u64(&body);
	if (record->type == PERF_MMAP2) {
		identity = bytes_take(&body, INODE_BYTES);
		bytes_skip(&body, 8); /* protection and flags */
	}
	path = bytes_string(&body);
	/* The second number of the record is the mapping's length. */
	if (!path || __builtin_add_overflow(mapping.start, mapping.end, &mapping.end))
		return -EBADMSG;
	if (identity && (record->misc & PERF_MISC_BUILD_ID))
		set_build_id(module.build_id, &module.build_id_size, identity + 4, identity[0]);
	if (mode == PERF_CPU_KERNEL || pid == UINT32_MAX) {
		note_kernel(tasks, path, mapping.file_offset, &module);
		return 0;
	}
	if (mode == PERF_CPU_GUEST_KERNEL || mode == PERF_CPU_GUEST_USER ||
	    (record->misc & PERF_MISC_MMAP_DATA) || mapping.start >= mapping.end)
		return 0;
	return map_file(tasks, pid, path, &module, &mapping);
}
