/*
 * The Java runtimes on this machine: where they usually are, and what STACKWIDE_TEST_JAVAS names, with colons between.
 */
#ifndef JAVA_RUNTIMES_H
#define JAVA_RUNTIMES_H

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "unit.h"

struct java_list {
	ARRAY(char *) paths; /* of their java */
};

static inline void add_java(struct java_list *list, const char *path)
{
	char resolved[PATH_MAX];
	char **added;

	if (!realpath(path, resolved))
		return;
	array_for_each (&list->paths, known)
		if (string_equals(*known, resolved))
			return;
	added = array_add(&list->paths);
	assert_non_null(added);
	*added = strdup(resolved);
	assert_non_null(*added);
}

static inline void find_javas(struct java_list *list)
{
	static const char *const patterns[] = {
		"/usr/lib/jvm/*/bin/java",
		"/opt/java/*/bin/java",
		"/opt/hostedtoolcache/Java_*/*/x64/bin/java",
		"~/.sdkman/candidates/java/*/bin/java",
	};
	char *more = getenv("STACKWIDE_TEST_JAVAS") ? strdup(getenv("STACKWIDE_TEST_JAVAS")) : NULL;
	char *rest = more;

	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
		glob_t found;

		if (glob(patterns[i], GLOB_TILDE, NULL, &found))
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++)
			add_java(list, found.gl_pathv[j]);
		globfree(&found);
	}
	for (char *path = strsep(&rest, ":"); path; path = strsep(&rest, ":"))
		if (*path)
			add_java(list, path);
	free(more);
}

static inline void release_javas(struct java_list *list)
{
	array_for_each (&list->paths, path)
		free(*path);
	array_release(&list->paths);
}

#endif
