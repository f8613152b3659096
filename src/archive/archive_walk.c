/*
 * An archive has four levels, YYYY/MM/DD/capture. Whole years, months and days are skipped by their
 * names, so that asking for a day of an archive of years opens a handful of folders. Only names
 * that the archive itself would give are entered; there is no other depth, and no recursion beyond
 * it.
 *
 * A folder may vanish during the walk, if expiry runs at the same time; that is no error.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "archive/archive.h"
#include "archive/archive_folder.h"
#include "base/clock.h"
#include "base/text.h"

/*
 * The days are numbers such as 20261121, so that greater is later; year, month and day are those of
 * the open folder.
 */
struct archive_walk {
	int first_day;
	int last_day;
	int (*enter)(int year, int month, int day, int fd, const char *name, void *context);
	void *context;
	int year;
	int month;
	int day;
};

enum level { LEVEL_YEARS, LEVEL_MONTHS, LEVEL_DAYS, LEVEL_CAPTURES };

static int walk_folder(struct archive_walk *walk, int fd, enum level level);

/* Whether a folder's name is one of ours and its days are in the range. */
static bool is_match(struct archive_walk *walk, enum level level, const char *name)
{
	int first = walk->first_day;
	int last = walk->last_day;

	switch (level) {
	case LEVEL_YEARS:
		return capture_name_is_year(name, &walk->year) && walk->year >= first / 10000 &&
		       walk->year <= last / 10000;
	case LEVEL_MONTHS:
		return capture_name_is_month(name, &walk->month) &&
		       walk->year * 100 + walk->month >= first / 100 &&
		       walk->year * 100 + walk->month <= last / 100;
	case LEVEL_DAYS:
		if (!capture_name_is_day(name, &walk->day))
			return false;
		first -= walk->year * 10000 + walk->month * 100 + walk->day;
		last -= walk->year * 10000 + walk->month * 100 + walk->day;
		return first <= 0 && last >= 0;
	case LEVEL_CAPTURES:
		break;
	}
	return false;
}

static int enter_folder(struct archive_walk *walk, int fd, const char *name, enum level level)
{
	int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (below >= 0)
		return walk_folder(walk, below, level);
	/* Not one of ours, or removed a moment ago. */
	return errno == ENOTDIR || errno == ELOOP || errno == ENOENT ? 0 : -errno;
}

/* Takes ownership of fd. */
static int walk_folder(struct archive_walk *walk, int fd, enum level level)
{
	DIR *folder = fdopendir(fd);
	const struct dirent *entry;
	int err = 0;

	if (!folder) {
		err = -errno;
		close(fd);
		return err;
	}
	/* readdir() returns NULL at the end as well as for an error, and only errno tells which. */
	while ((errno = 0, entry = readdir(folder))) {
		if (level == LEVEL_CAPTURES)
			err = walk->enter(walk->year, walk->month, walk->day, dirfd(folder),
					  entry->d_name, walk->context);
		else if (is_match(walk, level, entry->d_name))
			err = enter_folder(walk, dirfd(folder), entry->d_name,
					   (enum level)(level + 1));
		if (err)
			break;
	}
	if (!entry && errno)
		err = -errno;
	closedir(folder);
	return err;
}

int archive_walk(const struct archive *archive, int first_day, int last_day,
		 int (*enter)(int year, int month, int day, int fd, const char *name,
			      void *context),
		 void *context)
{
	struct archive_walk walk = {first_day, last_day, enter, context, 0, 0, 0};
	int fd = openat(archive->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : walk_folder(&walk, fd, LEVEL_YEARS);
}

/*
 * Removing a file frees the space that it takes on the disk; st_blocks counts 512 bytes whatever
 * the file system's block size (stat(3)). Its times may be anything, also beyond 64 bits.
 */
void archive_capture_measure(struct archive_capture *capture, const struct stat *status)
{
	capture->size_bytes = (uint64_t)status->st_blocks * 512;
	capture->length_bytes = (uint64_t)status->st_size;
	capture->changed_ns = (int64_t)((uint64_t)status->st_mtim.tv_sec * NS_PER_SECOND +
					(uint64_t)status->st_mtim.tv_nsec);
	capture->owner = status->st_uid;
}

struct archive_listing {
	struct archive_list *list;
	int64_t since_s;
	int64_t until_s;
};

/* A name out of range costs nothing: the file is examined only after that check. */
static int add_capture(int year, int month, int day, int fd, const char *name, void *context)
{
	struct archive_listing *listing = context;
	struct archive_capture *added;
	struct stat status;
	int64_t time_s;

	if (!capture_name_read(year, month, day, name, &time_s) || time_s < listing->since_s ||
	    time_s >= listing->until_s)
		return 0;
	if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(status.st_mode))
		return 0;
	added = array_add(&listing->list->captures);
	if (!added)
		return -ENOMEM;
	added->time_s = time_s;
	archive_capture_measure(added, &status);
	if (asprintf(&added->name, "%04d/%02d/%02d/%s", year, month, day, name) < 0) {
		added->name = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* strverscmp() knows numbers: the tenth capture of a second follows the ninth. */
static int compare_captures(const void *left, const void *right)
{
	const struct archive_capture *a = left;
	const struct archive_capture *b = right;

	if (a->time_s != b->time_s)
		return a->time_s < b->time_s ? -1 : 1;
	return strverscmp(a->name, b->name);
}

/* 20261121, or the limit if the time has no such day. */
static int find_day(int64_t time_s, int limit)
{
	time_t time = (time_t)time_s;
	struct tm utc;

	if (!gmtime_r(&time, &utc) || utc.tm_year < -900 || utc.tm_year > 8099)
		return limit;
	return (utc.tm_year + 1900) * 10000 + (utc.tm_mon + 1) * 100 + utc.tm_mday;
}

int archive_list_init(struct archive_list *list, const struct archive *archive, int64_t since_s,
		      int64_t until_s, struct error *error)
{
	struct archive_listing listing = {list, since_s, until_s};
	int err;

	*list = (struct archive_list){0};
	err = archive_walk(archive, since_s < 0 ? 0 : find_day(since_s, 99991231),
			   find_day(until_s, 99991231), add_capture, &listing);
	if (err) {
		archive_list_release(list);
		return error_set(error, err, "cannot read the archive '%s': %s", archive->path,
				 strerror(-err));
	}
	if (list->captures.length)
		qsort(list->captures.items, list->captures.length, sizeof(*list->captures.items),
		      compare_captures);
	return 0;
}

void archive_list_release(struct archive_list *list)
{
	array_for_each (&list->captures, capture)
		free(capture->name);
	array_release(&list->captures);
}
