#include "formats/gprofng/read_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_files(const void *a, const void *b)
{
	const struct gprofng_file *file_a = a;
	const struct gprofng_file *file_b = b;
	int order = strcmp(file_a->path, file_b->path);

	if (order)
		return order;
	/* In an archive the later one counts, and is at a higher address. */
	return file_a->data < file_b->data ? 1 : file_a->data > file_b->data ? -1 : 0;
}

static void sort_files(struct gprofng_files *files)
{
	size_t last = 0; /* of those without the others of the same path */

	if (!files->items.length)
		return;
	qsort(files->items.items, files->items.length, sizeof(*files->items.items), compare_files);
	for (size_t i = 1; i < files->items.length; i++)
		if (strcmp(files->items.items[i].path, files->items.items[last].path) != 0)
			files->items.items[++last] = files->items.items[i];
	files->items.length = last + 1;
}

static int list_tar(struct gprofng_files *files)
{
	struct import *import = files->import;
	int err = tar_read(&files->tar, import->data, import->size);

	if (err)
		return err;
	if (files->tar.fault && import->is_strict)
		return import_fail_byte(import, files->tar.fault_offset, "%s", files->tar.fault);
	if (files->tar.fault) {
		import->counts.skipped++;
		import_warn(import, "at byte %zu: %s; the rest is skipped", files->tar.fault_offset,
			    files->tar.fault);
	}
	array_for_each (&files->tar.files, tar_file) {
		struct gprofng_file *added = array_add(&files->items);

		if (!added)
			return -ENOMEM;
		*added = (struct gprofng_file){
			.path = tar_get_path(&files->tar, tar_file),
			.data = import->data + tar_file->offset,
			.size = tar_file->size,
		};
	}
	return 0;
}

static int list_folder(struct gprofng_files *files)
{
	for (size_t i = 0; i < files->import->num_members; i++) {
		struct gprofng_file *added = array_add(&files->items);

		if (!added)
			return -ENOMEM;
		added->path = files->import->members[i];
	}
	return 0;
}

int gprofng_files_init(struct gprofng_files *files, struct import *import)
{
	int err;

	*files = (struct gprofng_files){.import = import};
	if (import->open_member)
		err = list_folder(files);
	else if (tar_detect(import->data, import->size))
		err = list_tar(files);
	else
		return import_fail_byte(
			import, 0,
			"expected the directory of an experiment, or a tar archive of "
			"it");
	if (err)
		return err;
	sort_files(files);
	return 0;
}

void gprofng_files_release(struct gprofng_files *files)
{
	array_release(&files->items);
	tar_release(&files->tar);
}

/* Compare a path with folder/name. */
static int compare_path(const char *path, const char *folder, size_t folder_length,
			const char *name)
{
	int order = strncmp(path, folder, folder_length);

	return order ? order : strcmp(path + folder_length, name);
}

size_t gprofng_files_find(const struct gprofng_files *files, const char *folder,
			  size_t folder_length, const char *name)
{
	return array_count_front(&files->items, file,
				 compare_path(file->path, folder, folder_length, name) < 0);
}

int gprofng_files_open(struct gprofng_files *files, const char *folder, size_t folder_length,
		       const char *name, struct gprofng_file *ret)
{
	struct import *import = files->import;
	size_t index = gprofng_files_find(files, folder, folder_length, name);
	struct gprofng_file *file = files->items.items + index;
	int err;

	if (index == files->items.length ||
	    compare_path(file->path, folder, folder_length, name) != 0)
		return -ENOENT;
	if (import->open_member && !file->data) {
		err = import->open_member(import->context, file->path, &file->data, &file->size);
		if (err == -ENOMEM)
			return err;
		if (err) {
			import_warn(import, "%s: cannot read it: %s, skipping", file->path,
				    strerror(-err));
			return -ENOENT;
		}
	}
	*ret = *file;
	return 0;
}

static bool is_log(const char *path)
{
	size_t length = strlen(path);

	return length >= 7 && strcmp(path + length - 7, "log.xml") == 0 &&
	       (length == 7 || path[length - 8] == '/');
}

bool gprofng_files_detect(const uint8_t *data, size_t size)
{
	struct tar tar = {0};
	bool has_log = false;

	if (tar_detect(data, size) && tar_read(&tar, data, size) == 0) {
		array_for_each (&tar.files, file) {
			const uint8_t *content = data + file->offset;

			has_log |= is_log(tar_get_path(&tar, file)) && file->size > 12 &&
				   memcmp(content, "<experiment ", 12) == 0;
		}
	}
	tar_release(&tar);
	return has_log;
}
