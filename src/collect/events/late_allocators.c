#include "collect/events/late_allocators.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include "base/clock.h"

/* For all files together. */
#define LOOK_NS (2 * NS_PER_SECOND)

static bool is_known(const struct probe *probe, const struct mapped_file *file)
{
	const struct mapped_file_id id = {
		.dev = makedev(file->dev_major, file->dev_minor),
		.inode = file->inode,
	};

	return mapped_files_have(&probe->looked_at, &id);
}

int late_allocators_find(const struct probe *probe, const struct file_table *table,
			 struct elf_files *elf_files, struct late_allocators *ret)
{
	uint64_t until_ns = clock_now_ns() + LOOK_NS;

	*ret = (struct late_allocators){0};
	for (uint32_t i = 0; i < file_table_get_count(table); i++) {
		const struct mapped_file *file = file_table_get(table, i);
		int err;

		if (file->fd < 0 || is_known(probe, file))
			continue;
		err = clock_now_ns() < until_ns ? elf_files_find_allocator(elf_files, i, file)
						: -ETIMEDOUT;
		if (err == -ENOMEM)
			return err;
		ret->num_unread += err == -ETIMEDOUT;
		if (err)
			continue;
		if (!ret->num_files++)
			ret->first_path = file->path;
	}
	return 0;
}
