/* Internals of an archive, shared by the files of this room only. */
#ifndef ARCHIVE_ARCHIVE_FOLDER_H
#define ARCHIVE_ARCHIVE_FOLDER_H

#include <sys/stat.h>

#include "archive/archive.h"

struct archive {
	char *path; /* as the caller gave it */
	int fd;
	int lock_fd; /* -1: not locked */
};

/* Temporary names, for file systems that need a name for each file. */
#define ARCHIVE_TEMPORARY_PREFIX ".stackwide-"
#define ARCHIVE_TEMPORARY_SUFFIX ".tmp"

/* For files with and without a name alike, whatever the umask. */
#define ARCHIVE_FILE_MODE 0640

/*
 * Call enter() for every entry of the folders of days: the day, the open folder, and a name in it.
 * Days outside [first, last] (as 20261121) are skipped. Its result, when not 0, ends the walk and
 * is returned. Returns 0 or negative errno.
 */
_must_check_ int archive_walk(const struct archive *archive, int first_day, int last_day,
			      int (*enter)(int year, int month, int day, int fd, const char *name,
					   void *context),
			      void *context);

/* Sets all but the name and the time in it. */
void archive_capture_measure(struct archive_capture *capture, const struct stat *status);

#endif
