/*
 * Whole files into memory, for small files and for /proc; and bytes out to one.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

#include "base/attributes.h"
#include "base/text.h"

/*
 * Read from fd's present position to its end, at most limit_bytes (longer is -EFBIG).
 *
 * ret   appended to; the caller releases it. Unchanged on failure.
 *
 * Returns 0 or negative errno. Works on /proc files, which have no size.
 */
_must_check_ int file_read_fd(int fd, size_t limit_bytes, struct text *ret);

/* The same by path; relative to the folder dir_fd, or to the working directory (AT_FDCWD). */
_must_check_ int file_read_at(int dir_fd, const char *path, size_t limit_bytes, struct text *ret);

/* Write all bytes at fd's present position. Returns 0 or negative errno. */
_must_check_ int file_write_fd(int fd, const void *data, size_t size);

#endif
