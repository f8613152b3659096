/*
 * The files whose code processes run, each once, opened as they are mapped.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_EVENTS_MAPPED_FILES_H
#define COLLECT_EVENTS_MAPPED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/array.h"
#include "base/attributes.h"
#include "collect/target.h"

struct slow_opener;

/* A machine with many containers has some thousand; no more of a hostile one are looked at. */
#define MAX_MAPPED_FILES 16384

/* A content of a file: its inode may be another file's later. */
struct mapped_file_id {
	dev_t dev;
	ino_t inode;
	uint64_t num_bytes;
	struct timespec modified;
};

/* All zero is empty. */
struct mapped_files {
	ARRAY(struct mapped_file_id) seen; /* sorted */
	uint32_t num_unreadable;
	uint32_t num_left_out;      /* beyond MAX_MAPPED_FILES */
	const char *proc_root;      /* NULL: /proc. Borrowed */
	struct slow_opener *opener; /* for calls that may hang; NULL: wait for them. Borrowed */
	/*
	 * Borrowed. Called with the descriptor of each new file, which it takes over. Returns 0 or
	 * negative errno.
	 */
	int (*handle)(int fd, const char *path, void *context);
	void *context;
};

void mapped_files_release(struct mapped_files *files);

bool mapped_files_have(const struct mapped_files *files, const struct mapped_file_id *id);

/* Remember an open file. Returns 1 if it is new, 0 if it is not or there are too many, or negative errno. */
_must_check_ int mapped_files_remember(struct mapped_files *files, int fd);

/*
 * Pass on an open file; if it was seen before, close it instead. Returns 0, the error of handle(),
 * or -ENOMEM.
 */
_must_check_ int mapped_files_add(struct mapped_files *files, int fd, const char *path);

/*
 * Pass on the files of the target now, including descendants; for a whole machine or a cgroup, of
 * all processes. Processes that have ended or may not be examined are skipped.
 *
 * Returns 0, the error of handle(), or another negative errno.
 */
_must_check_ int mapped_files_find(struct mapped_files *files, const struct target *target);

#endif
