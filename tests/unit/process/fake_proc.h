/*
 * A folder that looks like /proc, for tests: fake_proc_new() makes it below the folder for
 * temporary files, fake_proc_remove() takes it away. Paths are relative to it.
 */
#ifndef FAKE_PROC_H
#define FAKE_PROC_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/text.h"
#include "test_folder.h"
#include "unit.h"

struct fake_proc {
	char root[TEST_PATH_BYTES];
};

static inline struct fake_proc fake_proc_new(void)
{
	struct fake_proc proc;

	test_folder_make(proc.root);
	return proc;
}

static inline int fake_proc_remove_entry(const char *path, _unused_ const struct stat *status,
					 _unused_ int type, _unused_ struct FTW *position)
{
	return remove(path);
}

static inline void fake_proc_remove(struct fake_proc *proc)
{
	nftw(proc->root, fake_proc_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The absolute path; the caller releases it. Folders on the way are made. */
static inline struct text fake_proc_path(const struct fake_proc *proc, const char *path)
{
	struct text full = {0};

	text_printf(&full, "%s/%s", proc->root, path);
	assert_false(full.failed);
	for (char *slash = full.data + strlen(proc->root); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full.data, 0755);
		*slash = '/';
	}
	return full;
}

/* Write a file, in place of one that is there (which keeps its inode while it is open). */
static inline void fake_proc_write(const struct fake_proc *proc, const char *path,
				   const char *content)
{
	_cleanup_(text_release) struct text full = fake_proc_path(proc, path);
	FILE *file;

	unlink(full.data);
	file = fopen(full.data, "we");
	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
}

static inline void fake_proc_append(const struct fake_proc *proc, const char *path,
				    const char *content)
{
	_cleanup_(text_release) struct text full = fake_proc_path(proc, path);
	FILE *file = fopen(full.data, "ae");

	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
}

static inline void fake_proc_delete(const struct fake_proc *proc, const char *path)
{
	_cleanup_(text_release) struct text full = fake_proc_path(proc, path);

	assert_int_equal(unlink(full.data), 0);
}

/* A symbolic link to another path of the fake folder. */
static inline void fake_proc_link(const struct fake_proc *proc, const char *path,
				  const char *target)
{
	_cleanup_(text_release) struct text from = fake_proc_path(proc, path);
	_cleanup_(text_release) struct text to = fake_proc_path(proc, target);

	assert_int_equal(symlink(to.data, from.data), 0);
}

static inline uint64_t fake_proc_get_inode(const struct fake_proc *proc, const char *path)
{
	_cleanup_(text_release) struct text full = fake_proc_path(proc, path);
	struct stat status;

	assert_int_equal(stat(full.data, &status), 0);
	return status.st_ino;
}

struct fake_process {
	unsigned pid;
	unsigned parent_pid;
	const char *comm;
	const char *maps;
	char state;                /* 0 means 'S' */
	unsigned long start_ticks; /* 0: the process is as old as the machine */
};

static inline void fake_proc_add(const struct fake_proc *proc, struct fake_process process)
{
	char path[64];
	char text[256];

	snprintf(path, sizeof(path), "%u/comm", process.pid);
	snprintf(text, sizeof(text), "%s\n", process.comm);
	fake_proc_write(proc, path, text);
	snprintf(path, sizeof(path), "%u/stat", process.pid);
	snprintf(text, sizeof(text),
		 "%u (%s) %c %u 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 %lu 1000 10\n",
		 process.pid, process.comm, process.state ? process.state : 'S', process.parent_pid,
		 process.start_ticks);
	fake_proc_write(proc, path, text);
	snprintf(path, sizeof(path), "%u/maps", process.pid);
	fake_proc_write(proc, path, process.maps ? process.maps : "");
}

/* The process is gone. */
static inline void fake_proc_end(const struct fake_proc *proc, unsigned pid)
{
	_cleanup_(text_release) struct text folder = {0};

	text_printf(&folder, "%s/%u", proc->root, pid);
	assert_false(folder.failed);
	nftw(folder.data, fake_proc_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
