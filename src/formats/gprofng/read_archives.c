/*
 * The copies in archives/ are named as their originals, with an underscore and a hash behind:
 * libc.so.6_mn9iofwnakb. archive.log maps copies to originals; if it is missing, the name has to
 * do. Two originals with the same name then cannot be distinguished, and the first copy is taken.
 */
#include "formats/gprofng/read_archives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define FOLDER         "archives/"
#define MAX_LINE_BYTES 16384

#define HASH_LENGTH    11 /* characters behind the underscore */
#define MAX_SAME_NAMES 64 /* names with the same prefix that are tried */

/* The copies, by path of the original. */
struct copy {
	uint32_t path; /* string of the profile */
	uint32_t file; /* index in the files */
};

struct copies {
	ARRAY(struct copy) items;  /* sorted by path */
	ARRAY(const char *) names; /* paths of all copies, sorted by their last part */
};

/* The text between the next ` and ' of a line. */
static bool take_quoted(const char **line, const char *end, const char **ret, size_t *ret_length)
{
	const char *start = memchr(*line, '`', (size_t)(end - *line));
	const char *close = start ? memchr(start, '\'', (size_t)(end - start)) : NULL;

	if (!close)
		return false;
	*ret = start + 1;
	*ret_length = (size_t)(close - start) - 1;
	*line = close + 1;
	return true;
}

/* The number of folder/archives/NAME, or -1. */
static int64_t find_copy(const struct gprofng_files *files, const char *folder,
			 size_t folder_length, const char *name, size_t name_length)
{
	_cleanup_(text_release) struct text path = {0};
	size_t index;

	text_append_string(&path, FOLDER);
	text_append(&path, name, name_length);
	if (path.failed)
		return -1;
	index = gprofng_files_find(files, folder, folder_length, path.data);
	if (index == files->items.length ||
	    strncmp(files->items.items[index].path, folder, folder_length) != 0 ||
	    !string_equals(files->items.items[index].path + folder_length, path.data))
		return -1;
	return (int64_t)index;
}

/* "Copying `/usr/bin/work'  to `/home/x.er/archives/work_mn9iofwnakb'" */
static int read_line(struct copies *copies, const struct gprofng_files *files,
		     struct profile *profile, const struct gprofng_file *log, const char *line,
		     const char *end)
{
	size_t folder_length = strlen(log->path) - strlen(path_basename(log->path));
	const char *original;
	const char *copy;
	size_t original_length;
	size_t copy_length;
	const char *name;
	struct copy *added;
	int64_t file;

	if (end - line > MAX_LINE_BYTES || !take_quoted(&line, end, &original, &original_length) ||
	    !take_quoted(&line, end, &copy, &copy_length))
		return 0;
	name = memrchr(copy, '/', copy_length);
	name = name ? name + 1 : copy;
	file = find_copy(files, log->path, folder_length, name,
			 (size_t)(copy + copy_length - name));
	if (file < 0)
		return 0;
	added = array_add(&copies->items);
	if (!added)
		return -ENOMEM;
	added->file = (uint32_t)file;
	return string_table_add(profile_get_strings(profile), original, original_length,
				&added->path);
}

static int read_log(struct copies *copies, const struct gprofng_files *files,
		    struct profile *profile, const struct gprofng_file *log)
{
	const char *line = (const char *)log->data;
	const char *end = line + log->size;
	int err;

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = end;
		err = read_line(copies, files, profile, log, line, stop);
		if (err)
			return err;
		line = stop + 1;
	}
	return 0;
}

static int compare_copies(const void *a, const void *b)
{
	const struct copy *copy_a = a;
	const struct copy *copy_b = b;

	if (copy_a->path != copy_b->path)
		return copy_a->path < copy_b->path ? -1 : 1;
	return copy_a->file < copy_b->file ? -1 : copy_a->file > copy_b->file;
}

static int read_logs(struct copies *copies, struct gprofng_files *files, struct profile *profile)
{
	int err;

	for (size_t i = 0; i < files->items.length; i++) {
		struct gprofng_file log;

		if (!string_equals(path_basename(files->items.items[i].path), "archive.log"))
			continue;
		err = gprofng_files_open(files, "", 0, files->items.items[i].path, &log);
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		err = read_log(copies, files, profile, &log);
		if (err)
			return err;
	}
	if (copies->items.length)
		qsort(copies->items.items, copies->items.length, sizeof(*copies->items.items),
		      compare_copies);
	return 0;
}

static const struct copy *find_path(const struct copies *copies, uint32_t path)
{
	struct copy wanted = {.path = path};
	size_t place = array_count_front(&copies->items, copy, compare_copies(copy, &wanted) < 0);

	if (place == copies->items.length || copies->items.items[place].path != path)
		return NULL;
	return &copies->items.items[place];
}

/* ---- by name ---- */

static int compare_names(const void *a, const void *b)
{
	const char *const *path_a = a;
	const char *const *path_b = b;
	int order = strcmp(path_basename(*path_a), path_basename(*path_b));

	return order ? order : strcmp(*path_a, *path_b);
}

static int list_names(struct copies *copies, const struct gprofng_files *files)
{
	array_for_each (&files->items, file) {
		const char *name = path_basename(file->path);
		size_t length = (size_t)(name - file->path);
		const char **added;

		if (length < strlen(FOLDER) ||
		    memcmp(name - strlen(FOLDER), FOLDER, strlen(FOLDER)) != 0)
			continue;
		added = array_add(&copies->names);
		if (!added)
			return -ENOMEM;
		*added = file->path;
	}
	if (copies->names.length)
		qsort(copies->names.items, copies->names.length, sizeof(*copies->names.items),
		      compare_names);
	return 0;
}

/* The first copy with this name and a hash behind it; NULL: none. */
static const char *find_name(const struct copies *copies, const char *name)
{
	size_t length = strlen(name);
	size_t first =
		array_count_front(&copies->names, copy, strcmp(path_basename(*copy), name) < 0);

	for (size_t i = first; i < copies->names.length && i < first + MAX_SAME_NAMES; i++) {
		const char *copy = path_basename(copies->names.items[i]);

		if (strncmp(copy, name, length) != 0)
			break;
		if (copy[length] == '_' && strlen(copy + length + 1) == HASH_LENGTH)
			return copies->names.items[i];
	}
	return NULL;
}

static int find_for_module(const struct gprofng_files *files, const struct copies *copies,
			   struct profile *profile, uint32_t module)
{
	uint32_t path = profile_get_module(profile, module)->path;
	const struct copy *copy = find_path(copies, path);
	const char *found =
		copy ? files->items.items[copy->file].path
		     : find_name(copies, path_basename(profile_get_string(profile, path)));
	uint32_t string;
	int err;

	if (!found)
		return 0;
	err = profile_add_string(profile, found, &string);
	if (err)
		return err;
	profile_set_module_copy(profile, module, string);
	return 0;
}

static void copies_release(struct copies *copies)
{
	array_release(&copies->items);
	array_release(&copies->names);
}

int gprofng_archives_find(struct gprofng_files *files, struct profile *profile,
			  const struct gprofng_modules *modules)
{
	_cleanup_(copies_release) struct copies copies = {0};
	int err = read_logs(&copies, files, profile);

	if (err)
		return err;
	err = list_names(&copies, files);
	if (err)
		return err;
	for (size_t i = 0; i < modules->length; i++) {
		err = find_for_module(files, &copies, profile, modules->items[i].module);
		if (err)
			return err;
	}
	return 0;
}
