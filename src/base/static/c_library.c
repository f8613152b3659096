/*
 * Functions of the C library for the statically linked program (make static). Those of a static
 * glibc load libraries of the machine where the program runs, which are of another glibc, or of
 * none. These search /etc/passwd and /etc/group alone, and load nothing.
 */
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"

/* The linker's names for them (--wrap). */
struct passwd *__wrap_getpwnam(const char *name);
int __wrap_getgrouplist(const char *user, gid_t group, gid_t *groups, int *count);
void *__wrap_dlopen(const char *path, int mode);

/* As getpwnam() does: the result is valid until the next call. */
struct passwd *__wrap_getpwnam(const char *name)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *entry = NULL;

	if (!file)
		return NULL;
	do {
		entry = fgetpwent(file);
	} while (entry && strcmp(entry->pw_name, name) != 0);
	fclose(file);
	return entry;
}

static bool has_member(const struct group *entry, const char *user)
{
	for (char **member = entry->gr_mem; *member; member++)
		if (!strcmp(*member, user))
			return true;
	return false;
}

/* Counts all groups, and stores as many as there is room for. */
int __wrap_getgrouplist(const char *user, gid_t group, gid_t *groups, int *count)
{
	FILE *file = fopen("/etc/group", "re");
	const struct group *entry;
	int room = *count;
	int found = 0;

	if (found < room)
		groups[found] = group;
	found++;
	while (file && (entry = fgetgrent(file))) {
		if (entry->gr_gid == group || !has_member(entry, user))
			continue;
		if (found < room)
			groups[found] = entry->gr_gid;
		found++;
	}
	if (file)
		fclose(file);
	*count = found;
	return found <= room ? found : -1;
}

/* libdw's client of debuginfod is such a library. */
void *__wrap_dlopen(const char *path _unused_, int mode _unused_)
{
	return NULL;
}
