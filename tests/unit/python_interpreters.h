/*
 * The interpreters of Python on this machine: where they usually are, and what STACKWIDE_TEST_PYTHONS names, with colons
 * between.
 */
#ifndef PYTHON_INTERPRETERS_H
#define PYTHON_INTERPRETERS_H

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "unit.h"

struct interpreter_list {
	ARRAY(char *) paths;
};

static inline void add_interpreter(struct interpreter_list *list, const char *path)
{
	char resolved[PATH_MAX];
	const char *number = strrchr(path, '.');
	char **added;

	/* Not python3.11-config; but a letter says how it was built: free-threaded, for debugging. */
	if (!realpath(path, resolved) || !number)
		return;
	number += 1 + strspn(number + 1, "0123456789");
	if (*number && !(strchr("td", *number) && !number[1]))
		return;
	array_for_each (&list->paths, known)
		if (string_equals(*known, resolved))
			return;
	added = array_add(&list->paths);
	assert_non_null(added);
	*added = strdup(resolved);
	assert_non_null(*added);
}

static inline void find_interpreters(struct interpreter_list *list)
{
	static const char *const patterns[] = {
		"/usr/bin/python3.[0-9]*",
		"/usr/local/bin/python3.[0-9]*",
		"/opt/python/*/bin/python3.[0-9]*",
		"/opt/hostedtoolcache/Python/3.*/x64/bin/python3.[0-9]*",
		"~/.pyenv/versions/3.*/bin/python3.[0-9]*",
	};
	char *more =
		getenv("STACKWIDE_TEST_PYTHONS") ? strdup(getenv("STACKWIDE_TEST_PYTHONS")) : NULL;
	char *rest = more;

	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
		glob_t found;

		if (glob(patterns[i], GLOB_TILDE, NULL, &found))
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++)
			add_interpreter(list, found.gl_pathv[j]);
		globfree(&found);
	}
	for (char *path = strsep(&rest, ":"); path; path = strsep(&rest, ":"))
		if (*path)
			add_interpreter(list, path);
	free(more);
}

static inline void release_interpreters(struct interpreter_list *list)
{
	array_for_each (&list->paths, path)
		free(*path);
	array_release(&list->paths);
}

#endif
