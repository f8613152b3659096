/*
 * A group of experiments of Oracle's Performance Analyzer and gprofng: a text file whose first line
 * is FIRST_LINE and whose others each name an experiment, a folder. Lines with # are comments.
 * Relative names start at the group's own folder.
 */
#include "cli/files/experiment_group.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

#define FIRST_LINE "#analyzer experiment group"

bool experiment_group_detect(const uint8_t *data, size_t size)
{
	return size >= strlen(FIRST_LINE) && memcmp(data, FIRST_LINE, strlen(FIRST_LINE)) == 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The path is not resolved any further: the code that opens it checks the type of the file. */
static int add_path(struct experiment_paths *paths, const char *group_path, const char *line,
		    size_t length)
{
	_cleanup_(text_release) struct text path = {0};
	char **added;

	if (line[0] != '/')
		text_append(&path, group_path,
			    strlen(group_path) - strlen(path_basename(group_path)));
	text_append(&path, line, length);
	added = path.failed ? NULL : array_add(&paths->items);
	if (!added)
		return -ENOMEM;
	*added = strdup(path.data);
	return *added ? 0 : -ENOMEM;
}

int experiment_group_read(struct experiment_paths *paths, const char *group_path,
			  const uint8_t *data, size_t size)
{
	const char *line = (const char *)data;
	const char *end = line + size;

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		const char *next = stop ? stop + 1 : end;
		int err;

		if (!stop)
			stop = end;
		while (line < stop && is_blank(*line))
			line++;
		while (stop > line && is_blank(stop[-1]))
			stop--;
		if (stop > line && *line != '#') {
			err = add_path(paths, group_path, line, (size_t)(stop - line));
			if (err)
				return err;
		}
		line = next;
	}
	return 0;
}

void experiment_paths_release(struct experiment_paths *paths)
{
	array_for_each (&paths->items, path)
		free(*path);
	array_release(&paths->items);
}
