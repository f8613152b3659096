/*
 * Opens and reads what may take for ever, in a process that is given up then: a file system of a user's
 * (FUSE) answers when it likes, and the memory of a process may lie in a file of one.
 *
 * Not thread-safe. NULL in place of an opener means to do it here, and to wait.
 */
#ifndef PROCESS_SLOW_OPENER_H
#define PROCESS_SLOW_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text.h"

struct slow_opener;

/* Returns 0 or negative errno. */
_must_check_ int slow_opener_new(struct slow_opener **ret);
void slow_opener_free(struct slow_opener *opener);

/*
 * A handle (O_PATH) of the file at the path, as it is below a root.
 *
 * root_fd  a folder; borrowed
 * flags    0 or O_NOFOLLOW
 *
 * Returns the descriptor, which the caller closes, or negative errno; -ETIMEDOUT.
 */
_must_check_ int slow_opener_find(struct slow_opener *opener, int root_fd, const char *path,
				  int flags);

/*
 * Whether a file system that is on no disk of this machine may not answer: one in user space, or an
 * overlay that a user mounted, as it may lie over such a one. Once known it is not asked again.
 *
 * handle  of a file in it
 * device  its number
 */
bool slow_opener_may_hang(struct slow_opener *opener, int handle, dev_t device);

/*
 * The content of a file. Of a file system that may not answer it is a copy: closing such a file may take for
 * ever, too. Returns the descriptor, which the caller closes; -EFBIG, -ETIMEDOUT or another
 * negative errno.
 */
_must_check_ int slow_opener_open(struct slow_opener *opener, int handle);

/* At once. */
#define SLOW_OPENER_MAX_MEMORY_BYTES (64u << 10)

/*
 * Read the memory of a process, which may be of a file of such a file system, or one that the process fills when it likes
 * (userfaultfd).
 *
 * Returns 0; -EFAULT: not all of it is mapped; -EINVAL: it is too much; -ESRCH, -EPERM, -ETIMEDOUT or another negative errno.
 */
_must_check_ int slow_opener_read_memory(struct slow_opener *opener, pid_t pid, uint64_t address,
					 void *ret, size_t size);

/* Read a file of /proc, as file_read_at() does, or -ETIMEDOUT. */
_must_check_ int slow_opener_read(struct slow_opener *opener, const char *path, size_t limit_bytes,
				  struct text *ret);

#endif
