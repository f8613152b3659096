/*
 * A file that nobody but one user may read, not even root, as on a file system in user space (FUSE) that was mounted without
 * allow_other or allow_root: AppImages, for one. A process of its own becomes that user and opens it.
 *
 * What becomes the user holds the handle, standard error and the socket for its answer, and has no capability. The
 * kernel lets that user neither trace it nor read its memory (it is not dumpable), but stop and end it: then there is no
 * answer, and whoever waits for it has a deadline.
 */
#ifndef PROCESS_USER_OPENER_H
#define PROCESS_USER_OPENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

/* What fstat(2) says of it to that user. */
struct user_file {
	uint64_t device;
	uint64_t inode;
};

/*
 * pid     of a process of the user; one that has the rights of several users is of none
 * handle  O_PATH, of a regular file
 * ret_fd  for reading; the caller closes it. NULL: it is not opened
 *
 * Returns 0; -EACCES: root's, or nobody's, or without an answer; -ENOTSUP: no regular file; or another negative errno.
 */
_must_check_ int user_opener_open(pid_t pid, int handle, struct user_file *ret_file, int *ret_fd);

#endif
