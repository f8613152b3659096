/*
 * An archive in a folder of its own below TMPDIR, and files beside the captures.
 */
#ifndef ARCHIVE_FIXTURE_H
#define ARCHIVE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "archive/archive.h"
#include "base/text.h"
/* clang-format off */
#include "test_folder.h"
#include "unit.h"
/* clang-format on */

#define NOON 1795262400ll /* 2026-11-21 12:00:00 UTC */
#define DAY  86400ll

struct fixture {
	char path[TEST_PATH_BYTES];
	struct archive *archive;
};

static inline int fixture_remove(const char *path, const struct stat *status _unused_,
				 int type _unused_, struct FTW *where _unused_)
{
	return remove(path);
}

static inline int fixture_init(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	test_folder_make(fixture->path);
	assert_int_equal(archive_open(fixture->path, false, &fixture->archive, NULL), 0);
	assert_int_equal(archive_lock(fixture->archive, NULL), 0);
	*state = fixture;
	return 0;
}

static inline int fixture_release(void **state)
{
	struct fixture *fixture = *state;

	archive_free(fixture->archive);
	assert_int_equal(nftw(fixture->path, fixture_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(fixture);
	return 0;
}

/* A capture of so many bytes. */
static inline void fixture_add(const struct fixture *fixture, int64_t time_s, size_t size)
{
	struct archive_file *file;
	char *data = calloc(1, size + 1);

	assert_int_equal(archive_file_new(fixture->archive, time_s, "host", ".folded", &file, NULL),
			 0);
	assert_int_equal(archive_file_write(file, data, size), 0);
	assert_int_equal(archive_file_commit(file, NULL), 0);
	archive_file_free(file);
	free(data);
}

static inline void fixture_join(const struct fixture *fixture, const char *name, char ret[512])
{
	snprintf(ret, 512, "%s/%s", fixture->path, name);
}

static inline void fixture_make_file(const struct fixture *fixture, const char *name)
{
	char path[512];
	int fd;

	fixture_join(fixture, name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static inline bool fixture_has(const struct fixture *fixture, const char *name)
{
	char path[512];
	struct stat status;

	fixture_join(fixture, name, path);
	return lstat(path, &status) == 0;
}

/* Names joined by blanks. */
static inline struct text fixture_list(const struct fixture *fixture, int64_t since_s,
				       int64_t until_s)
{
	struct archive_list list;
	struct text names = {0};

	text_append_string(&names, "");
	assert_int_equal(archive_list_init(&list, fixture->archive, since_s, until_s, NULL), 0);
	array_for_each (&list.captures, capture)
		text_printf(&names, "%s%s", names.length ? " " : "", capture->name);
	archive_list_release(&list);
	return names;
}

static inline void fixture_assert_lists(const struct fixture *fixture, const char *expected)
{
	struct text names = fixture_list(fixture, INT64_MIN, INT64_MAX);

	assert_string_equal(names.data, expected);
	text_release(&names);
}

#endif
