#include "collect/events/allocator_code.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "collect/events/probe.h"

struct function_range {
	uint64_t offset;
	uint64_t bytes;
};

/* A file with probes of an event, for some time. */
struct probed_allocator {
	size_t event;
	dev_t device;
	ino_t inode;
	uint64_t since_ns;
	uint64_t until_ns;
	ARRAY(struct function_range) functions; /* that allocate */
	ARRAY(struct function_range) helpers;   /* which these may jump to */
	bool has_other_helpers;                 /* anywhere in the file */
};

struct allocator_code {
	pthread_mutex_t lock;
	ARRAY(struct probed_allocator) files;
};

struct allocator_code *allocator_code_new(void)
{
	struct allocator_code *code = calloc(1, sizeof(*code));

	if (code)
		pthread_mutex_init(&code->lock, NULL);
	return code;
}

static void release_file(struct probed_allocator *file)
{
	array_release(&file->functions);
	array_release(&file->helpers);
}

void allocator_code_free(struct allocator_code *code)
{
	if (!code)
		return;
	array_for_each (&code->files, file)
		release_file(file);
	array_release(&code->files);
	pthread_mutex_destroy(&code->lock);
	free(code);
}

static int add_helpers(struct probed_allocator *file, const struct probe_site *site)
{
	file->has_other_helpers |= site->has_other_helpers;
	for (size_t i = 0; i < ALLOCATOR_MAX_HELPERS && site->helpers[i].bytes; i++) {
		struct function_range *added = array_add(&file->helpers);

		if (!added)
			return -ENOMEM;
		*added = (struct function_range){site->helpers[i].file_offset,
						 site->helpers[i].bytes};
	}
	return 0;
}

static int add_functions(struct probed_allocator *file, const struct probe_site *sites,
			 size_t num_sites)
{
	for (size_t i = 0; i < num_sites; i++) {
		struct function_range *added;

		if (sites[i].argument.source == ARGUMENT_NONE || !sites[i].function_bytes)
			continue;
		if (add_helpers(file, &sites[i]))
			return -ENOMEM;
		added = array_add(&file->functions);
		if (!added)
			return -ENOMEM;
		*added = (struct function_range){sites[i].offset, sites[i].function_bytes};
	}
	return 0;
}

static int add_file(struct allocator_code *code, const struct probed_allocator *file)
{
	struct probed_allocator *added;

	pthread_mutex_lock(&code->lock);
	added = array_add(&code->files);
	if (added)
		*added = *file;
	pthread_mutex_unlock(&code->lock);
	return added ? 0 : -ENOMEM;
}

int allocator_code_add(struct allocator_code *code, size_t event, const struct probe_site *sites,
		       size_t num_sites, uint64_t since_ns)
{
	struct probed_allocator file = {
		.event = event, .since_ns = since_ns, .until_ns = UINT64_MAX};
	struct stat status;
	int err;

	if (fstat(sites[0].fd, &status))
		return -errno;
	file.device = status.st_dev;
	file.inode = status.st_ino;
	err = add_functions(&file, sites, num_sites);
	if (!err)
		err = add_file(code, &file);
	if (err)
		release_file(&file);
	return err;
}

void allocator_code_end(struct allocator_code *code, size_t event, dev_t device, ino_t inode,
			uint64_t until_ns)
{
	pthread_mutex_lock(&code->lock);
	array_for_each (&code->files, file)
		if (file->event == event && file->device == device && file->inode == inode &&
		    file->until_ns == UINT64_MAX)
			file->until_ns = until_ns;
	pthread_mutex_unlock(&code->lock);
}

static enum allocator_part find_in_file(const struct probed_allocator *file, uint64_t offset)
{
	array_for_each (&file->functions, function)
		if (offset - function->offset < function->bytes)
			return ALLOCATOR_FUNCTION;
	array_for_each (&file->helpers, helper)
		if (offset - helper->offset < helper->bytes)
			return ALLOCATOR_HELPER;
	return file->has_other_helpers ? ALLOCATOR_HELPER : ALLOCATOR_FILE;
}

enum allocator_part allocator_code_find(struct allocator_code *code, size_t event,
					const struct code_place *place, uint64_t time_ns)
{
	enum allocator_part part = ALLOCATOR_NONE;

	pthread_mutex_lock(&code->lock);
	array_for_each (&code->files, file) {
		if (file->inode != place->inode || file->device != place->device ||
		    file->event != event || time_ns < file->since_ns || time_ns >= file->until_ns)
			continue;
		part = find_in_file(file, place->offset);
		break;
	}
	pthread_mutex_unlock(&code->lock);
	return part;
}
