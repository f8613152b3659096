/*
 * Access to files at paths of other processes, without waiting for a file system. Requests that the
 * kernel may not answer from memory go to another process (slow_opener.h).
 */
#ifndef PROCESS_FOREIGN_FILE_H
#define PROCESS_FOREIGN_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "process/file_version.h"
#include "process/slow_opener.h"

/* A regular file that was found. */
struct foreign_file {
	int handle;    /* O_PATH; the caller closes it */
	bool may_hang; /* its file system may hang: in user space, remote, or stacked on such */
	bool is_users; /* nobody but the process's user may read it, not even root */
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	struct file_version version; /* all 0: unknown (is_users) */
};

/*
 * pid  the process on whose behalf a file is examined (slow_opener.h)
 *
 * Returns 0; -ENOTSUP for no regular file, -ELOOP for a link, -ETIMEDOUT, or another negative
 * errno.
 */

/* Find it by a kernel link to the file itself, such as /proc/PID/map_files/…. */
_must_check_ int foreign_file_follow(struct slow_opener *opener, pid_t pid, const char *link,
				     struct foreign_file *ret);

/*
 * Find it by a path as a process sees it.
 *
 * root   folder that the path starts in, such as "/proc/PID/root" or "/"
 * flags  0, or O_NOFOLLOW: the last part of the path may not be a link
 */
_must_check_ int foreign_file_find(struct slow_opener *opener, pid_t pid, const char *root,
				   const char *path, int flags, struct foreign_file *ret);

/*
 * Device and inode of the regular file at a path below our own root, if the kernel has them in its
 * cache; nobody is asked.
 *
 * Returns 0 or negative errno: -EAGAIN if they are not in the cache.
 */
_must_check_ int foreign_file_peek(const char *path, uint32_t *ret_major, uint32_t *ret_minor,
				   uint64_t *ret_inode);

/* Open it for reading. Returns the descriptor, which the caller closes, or negative errno. */
_must_check_ int foreign_file_open(struct slow_opener *opener, pid_t pid,
				   const struct foreign_file *file);

#endif
