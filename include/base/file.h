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
 * Open for reading a path that another user may control: only a regular file. Anything else is not
 * opened even for a moment: opening a device has effects (a watchdog starts, a tape rewinds), and
 * opening a FIFO lets its writer go on.
 *
 * flags       0, or O_NOFOLLOW: the last part of the path may not be a link
 * ret_status  NULL, or the status of the opened file
 *
 * Returns the descriptor, which the caller closes; -ELOOP for a link, -ENOTSUP for no regular file,
 * or another negative errno.
 */
_must_check_ int file_open_regular(int dir_fd, const char *path, int flags,
				   struct stat *ret_status);

/*
 * Find a file below another root, such as a container's. No link leads out of it.
 *
 * flags   0, or O_NOFOLLOW
 *
 * Returns a handle (O_PATH), which the caller closes, or negative errno.
 */
_must_check_ int file_find_in_root(int root_fd, const char *path, int flags);

/* Open the file of a handle (O_PATH) for reading. Returns likewise. */
_must_check_ int file_open_found(int handle);

/*
 * The path of an open file as the kernel has it, below our own root; " (deleted)" may follow. No
 * file system is asked.
 *
 * size  of ret, at least 1: room for the path and its NUL
 *
 * Returns 0, -ENAMETOOLONG or another negative errno.
 */
_must_check_ int file_read_path(int handle, char *ret, size_t size);

/* Write all bytes at fd's present position. Returns 0 or negative errno. */
_must_check_ int file_write_fd(int fd, const void *data, size_t size);

/*
 * Write or read exactly `size` bytes at an offset; fd's position stays. Both return 0 or negative
 * errno.
 */
_must_check_ int file_write_at(int fd, const void *data, size_t size, uint64_t offset);
_must_check_ int file_read_range(int fd, void *data, size_t size, uint64_t offset);

/* Whether the user is root, we, or, with sudo, its caller. */
bool file_user_is_ours(uid_t user);

/*
 * A handle (O_PATH) of the folder at a path; only links of such users are followed. Returns the
 * descriptor, which the caller closes; -EPERM: a link on the way belongs to another user; or
 * another negative errno.
 */
_must_check_ int file_open_folder(const char *path);

/* For large temporary files: $TMPDIR, else /var/tmp, since /tmp is often in memory (tmpfs). */
const char *file_get_temporary_folder(void);

/*
 * Open an anonymous file (O_TMPFILE), which is gone when it is closed, or when the program is
 * killed. Returns its descriptor, which the caller closes; -ENOMEM, or negative errno with the
 * folder and the remedy in error.
 */
_must_check_ int file_open_anonymous(const char *folder, struct error *error);

/*
 * The user who answers for a file's content (file_owner.c). Anybody can write a program with
 * another's build ID, and put it at the other's path in a mount namespace of their own. But nobody
 * can give it to root.
 */

/* Unknown: several users may write the file, or a user may have made up its owner. */
#define FILE_OWNER_UNKNOWN ((uid_t)-1)

/*
 * The only user, beside root, who can have written an open file; 0 if only root can.
 * FILE_OWNER_UNKNOWN if others may write (or a group that is not the user's own), and on file
 * systems that may report any owner that a user wants:
 *
 * - FUSE
 * - those that a user was allowed to mount (nosuid, as mount(8) does it for user mounts, udisks and
 *   fusermount; but not tmpfs, whose owners the kernel keeps)
 * - an overlay that is neither mounted here nor in the namespace of the machine's first process
 */
uid_t file_owner_get(int fd);

/*
 * Whether a file system is mounted here or in the namespace of the machine's first process. If not,
 * it is mounted only in a namespace that a user made. Those of containers are mounted where the
 * engine runs. Does not access the file system itself.
 */
bool file_is_mounted_here(dev_t device);

/* Whether both owners are the same, known user. */
bool file_owner_is_same(uid_t a, uid_t b);

/* Whether the owner is root or ourselves. */
bool file_owner_is_trusted(uid_t owner);

#endif
