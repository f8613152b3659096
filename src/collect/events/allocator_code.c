#include "collect/events/allocator_code.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "collect/events/probe.h"

/* A range of a file's code. */
struct allocator_range {
	size_t event;
	dev_t device;
	ino_t inode;
	uint64_t offset;
	uint64_t bytes;
	uint64_t since_ns;
	uint64_t until_ns;
};

struct allocator_code {
	pthread_mutex_t lock;
	ARRAY(struct allocator_range) ranges;
};

struct allocator_code *allocator_code_new(void)
{
	struct allocator_code *code = calloc(1, sizeof(*code));

	if (code)
		pthread_mutex_init(&code->lock, NULL);
	return code;
}

void allocator_code_free(struct allocator_code *code)
{
	if (!code)
		return;
	array_release(&code->ranges);
	pthread_mutex_destroy(&code->lock);
	free(code);
}

/* The lock is held. */
static int add_ranges(struct allocator_code *code, const struct probe_site *site,
		      const struct allocator_range *file)
{
	const struct wire_own_code *own = &site->own_code;

	for (size_t i = 0; i < WIRE_MAX_OWN_CODE && own->bytes[i]; i++) {
		struct allocator_range *added = array_add(&code->ranges);

		if (!added)
			return -ENOMEM;
		*added = *file;
		added->offset = site->offset + own->offsets[i];
		added->bytes = own->bytes[i];
	}
	return 0;
}

int allocator_code_add(struct allocator_code *code, size_t event, const struct probe_site *site,
		       uint64_t since_ns)
{
	struct allocator_range file = {
		.event = event, .since_ns = since_ns, .until_ns = UINT64_MAX};
	struct stat status;
	int err;

	if (fstat(site->fd, &status))
		return -errno;
	file.device = status.st_dev;
	file.inode = status.st_ino;
	pthread_mutex_lock(&code->lock);
	err = add_ranges(code, site, &file);
	pthread_mutex_unlock(&code->lock);
	return err;
}

void allocator_code_end(struct allocator_code *code, size_t event, dev_t device, ino_t inode,
			uint64_t until_ns)
{
	pthread_mutex_lock(&code->lock);
	array_for_each (&code->ranges, range)
		if (range->event == event && range->device == device && range->inode == inode &&
		    range->until_ns == UINT64_MAX)
			range->until_ns = until_ns;
	pthread_mutex_unlock(&code->lock);
}

bool allocator_code_has(struct allocator_code *code, size_t event, const struct code_place *place,
			uint64_t time_ns)
{
	bool is_found = false;

	pthread_mutex_lock(&code->lock);
	array_for_each (&code->ranges, range) {
		is_found = range->inode == place->inode &&
			   place->offset - range->offset < range->bytes &&
			   range->device == place->device && range->event == event &&
			   time_ns >= range->since_ns && time_ns < range->until_ns;
		if (is_found)
			break;
	}
	pthread_mutex_unlock(&code->lock);
	return is_found;
}
