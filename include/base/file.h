/*
 * Whole files into memory, for small files and for /proc; bytes out to one, and back; files without
 * a name.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
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

/* All bytes to an offset, and from one; fd's position stays. Both return 0 or negative errno. */
_must_check_ int file_write_at(int fd, const void *data, size_t size, uint64_t offset);
_must_check_ int file_read_range(int fd, void *data, size_t size, uint64_t offset);

/* For what may be large: $TMPDIR, else /var/tmp, where memory is not used as a disk. */
const char *file_get_temporary_folder(void);

/*
 * Open a file without a name, which is gone when it is closed. Returns its descriptor, which the
 * caller closes; -ENOMEM, or negative errno with the folder and the cure in error.
 */
_must_check_ int file_open_nameless(const char *folder, struct error *error);

#endif
