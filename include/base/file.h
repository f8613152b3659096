/*
 * Files: read whole ones, write all bytes in spite of short writes and EINTR, and open temporary
 * ones that leave nothing behind.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <sys/stat.h>

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

/*
 * Open for reading what another user may have put there: only a regular file, and anything else is
 * not opened even for a moment, as opening a device has effects (a watchdog starts, a tape rewinds)
 * and opening a FIFO lets its writer go on.
 *
 * flags       0, or O_NOFOLLOW: the last part of the path may not be a link
 * ret_status  NULL, or what was opened
 *
 * Returns the descriptor, which the caller closes; -ELOOP for a link, -ENOTSUP for no regular file,
 * or another negative errno.
 */
_must_check_ int file_open_regular(int dir_fd, const char *path, int flags,
				   struct stat *ret_status);

/*
 * Find a file below another root, such as a container's, from where no link leads out.
 *
 * flags   0, or O_NOFOLLOW
 *
 * Returns a handle (O_PATH), which the caller closes, or negative errno.
 */
_must_check_ int file_find_in_root(int root_fd, const char *path, int flags);

/* Open, for reading, what a handle (O_PATH) has found. Returns likewise. */
_must_check_ int file_open_found(int handle);

/* Write all bytes at fd's present position. Returns 0 or negative errno. */
_must_check_ int file_write_fd(int fd, const void *data, size_t size);

/*
 * Write or read exactly `size` bytes at an offset; fd's position stays. Both return 0 or negative
 * errno.
 */
_must_check_ int file_write_at(int fd, const void *data, size_t size, uint64_t offset);
_must_check_ int file_read_range(int fd, void *data, size_t size, uint64_t offset);

/* Whether it is root, we, or, with sudo, the one who has called it. */
bool file_user_is_ours(uid_t user);

/*
 * A handle (O_PATH) of the folder at a path, by no link but of such a user. Returns the descriptor, which the caller closes;
 * -EPERM: a link on the way belongs to another user; or another negative errno.
 */
_must_check_ int file_open_folder(const char *path);

/* For large temporary files: $TMPDIR, else /var/tmp, since /tmp is often in memory (tmpfs). */
const char *file_get_temporary_folder(void);

/*
 * Open an anonymous file (O_TMPFILE), which is gone when it is closed, or when the program is
 * killed. Returns its descriptor, which the caller closes; -ENOMEM, or negative errno with the
 * folder and what to do about it in error.
 */
_must_check_ int file_open_anonymous(const char *folder, struct error *error);

/*
 * Whose word the content of a file is (file_owner.c). Anybody can write a program with the build ID of
 * another, and put it at the path of the other in a mount namespace of their own; nobody can give it
 * away to root.
 */

/* Not to be known: several users may write the file, or a user may have made up who owns it. */
#define FILE_OWNER_UNKNOWN ((uid_t)-1)

/*
 * The user who alone, beside root, can have written an open file: 0 where only root can.
 * FILE_OWNER_UNKNOWN where others may write (or a group that is not the user's own), and on file systems that may say what a
 * user wants: FUSE, those that a user was let mount (nosuid, as mount(8) does it for user mounts,
 * udisks and fusermount; but not tmpfs, whose owners the kernel keeps), and an overlay that is
 * neither mounted here nor where the machine's first process runs.
 */
uid_t file_owner_get(int fd);

/*
 * Whether a file system is mounted here or where the machine's first process runs, as those of containers
 * are where the engine runs, and not only in a namespace that a user made. Asks no file system.
 */
bool file_is_mounted_here(dev_t device);

/* Whether both are files of one user's, who is known. */
bool file_owner_is_same(uid_t a, uid_t b);

/* Whether it is root or ourselves. */
bool file_owner_is_trusted(uid_t owner);

#endif
