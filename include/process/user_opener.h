/*
 * Opens a file that only one user may read, not even root, as on a file system in user space (FUSE)
 * mounted without allow_other or allow_root: AppImages, for example. A process of its own becomes
 * that user and opens it.
 *
 * The process holds the handle, standard error and the socket for its answer, and has no
 * capability. The kernel lets the user neither trace it nor read its memory (it is not dumpable).
 * The user can still stop and end it; then no answer arrives, and the caller has a deadline.
 */
#ifndef PROCESS_USER_OPENER_H
#define PROCESS_USER_OPENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

/* Result of fstat(2) for that user. */
struct user_file {
	uint64_t device;
	uint64_t inode;
};

/*
 * pid     of a process of the user; a process with the rights of several users belongs to none
 * handle  O_PATH, of a regular file
 * ret_fd  for reading; the caller closes it. NULL: it is not opened
 *
 * Returns 0; -EACCES: root's, or nobody's, or without an answer; -ENOTSUP: no regular file; or
 * another negative errno.
 */
_must_check_ int user_opener_open(pid_t pid, int handle, struct user_file *ret_file, int *ret_fd);

#endif
