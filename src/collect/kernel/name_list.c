#include "collect/kernel/name_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void name_list_release(struct name_list *list)
{
	array_for_each (&list->names, name)
		free(*name);
	array_release(&list->names);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int name_list_read(const char *folder, struct name_list *ret)
{
	DIR *open = opendir(folder);
	const struct dirent *entry;
	int err = 0;

	if (!open)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (!err && (entry = readdir(open))) {
		char **name;

		if (entry->d_name[0] == '.')
			continue;
		name = array_add(&ret->names);
		if (name)
			*name = strdup(entry->d_name);
		err = name && *name ? 0 : -ENOMEM;
	}
	closedir(open);
	if (!err && ret->names.length)
		qsort(ret->names.items, ret->names.length, sizeof(*ret->names.items),
		      compare_names);
	return err;
}
