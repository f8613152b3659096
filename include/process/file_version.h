/*
 * Versions of a file's content. A file that is overwritten in place keeps its device and inode: its
 * size and times tell the contents apart. Anybody can set the time of its last modification back
 * (`cp -p`, archives with one time for all files), but not that of its last change (ctime). Links,
 * renames and permissions change that, too.
 */
#ifndef PROCESS_FILE_VERSION_H
#define PROCESS_FILE_VERSION_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"

struct file_version {
	uint64_t num_bytes;
	struct timespec modified; /* mtime */
	struct timespec changed;  /* ctime */
};

/* The present version of an open file. Returns 0 or negative errno. */
_must_check_ int file_version_read(int fd, struct file_version *ret);

/* Equal size and modification time: the same content, unless the time was set back. */
bool file_version_looks_same(const struct file_version *a, const struct file_version *b);

/* Certainly the same content: equal ctime, too. */
bool file_version_is_same(const struct file_version *a, const struct file_version *b);

/*
 * Whether the content was written after a moment (clock_now_ns()). A modification time in the
 * future proves nothing: anybody can set it. Both times have to be later, as writing sets both.
 */
bool file_version_is_newer(const struct file_version *version, uint64_t time_ns);

#endif
