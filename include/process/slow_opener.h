/*
 * Opens and reads files that may block for ever, in a separate process that is abandoned if they
 * do. A user's file system (FUSE) answers when it likes. The memory of a process may be in a file
 * of such a file system, and a process can keep its memory map locked as long as it likes. Reading
 * /proc/PID/maps, map_files, cmdline, exe, environ or mem waits for that lock. A path below
 * /proc/PID/root leads anywhere. Therefore only the opener may touch these files of another
 * process. Files that need neither are read directly: stat, status, comm, wchan, task, ns.
 *
 * Each request is on behalf of a process. The first one that times out is made again at once, as
 * the machine may be busy. Then the process is skipped for a second, and longer after further
 * time-outs. After several, all processes of the user are skipped (root's after more). So one user
 * costs the others little time, and never their files.
 *
 * Not thread-safe. If the opener is NULL, requests are made here, and wait.
 */
#ifndef PROCESS_SLOW_OPENER_H
#define PROCESS_SLOW_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text.h"
#include "process/user_opener.h"

struct slow_opener;

/* Returns 0 or negative errno. */
_must_check_ int slow_opener_new(struct slow_opener **ret);
void slow_opener_free(struct slow_opener *opener);

/* End its process: from now on every request is refused with -ESHUTDOWN. NULL is fine. */
void slow_opener_end(struct slow_opener *opener);

struct slow_opener_counts {
	uint64_t num_late;    /* requests that timed out */
	uint64_t num_refused; /* requests refused after time-outs of the same process or user */
};

/* NULL is fine. */
struct slow_opener_counts slow_opener_get_counts(const struct slow_opener *opener);

/* CPU time of its processes so far. NULL is fine. */
uint64_t slow_opener_read_cpu_ns(const struct slow_opener *opener);

/*
 * In all requests:
 *
 * pid  process on whose behalf we ask; 0: no process
 *
 * Returns -ETIMEDOUT if the request timed out, or was refused.
 */

/*
 * A handle (O_PATH) of the file behind a kernel link, such as /proc/PID/map_files/…. Returns the
 * descriptor, which the caller closes, or negative errno.
 */
_must_check_ int slow_opener_follow(struct slow_opener *opener, pid_t pid, const char *link);

/*
 * A handle (O_PATH) of the file at the path, below a root.
 *
 * root   folder that the path starts in, such as "/proc/PID/root"
 * flags  0 or O_NOFOLLOW
 *
 * Returns the descriptor, which the caller closes, or negative errno.
 */
_must_check_ int slow_opener_find(struct slow_opener *opener, pid_t pid, const char *root,
				  const char *path, int flags);

/*
 * Whether a file system that is on no disk of this machine may hang: one in user space, or an
 * overlay that a user mounted, since that may be stacked on such a one. A known answer is not asked
 * for again.
 *
 * handle  of a file in it
 * device  its number
 */
bool slow_opener_may_hang(struct slow_opener *opener, pid_t pid, int handle, dev_t device);

/*
 * Open the content of a file. If its file system may hang, this is a copy, since closing such a
 * file may take for ever, too. Returns the descriptor, which the caller closes; -EFBIG or another
 * negative errno.
 *
 * as_user  with the rights of the process's user, for files that root may not read
 */
_must_check_ int slow_opener_open(struct slow_opener *opener, pid_t pid, int handle, bool as_user);

/*
 * Identify a file that root may not even look at, as the process's user sees it. Returns 0,
 * -ENOTSUP for no regular file, or another negative errno.
 */
_must_check_ int slow_opener_look_as_user(struct slow_opener *opener, pid_t pid, int handle,
					  struct user_file *ret);

/* Maximum per request. */
#define SLOW_OPENER_MAX_MEMORY_BYTES (64u << 10)

/*
 * Read the memory of a process. It may be in a file of such a file system, or be filled by the
 * process when it likes (userfaultfd).
 *
 * Returns 0; -EFAULT: not all of it is mapped; -EINVAL: too large; -ESRCH, -EPERM or another
 * negative errno.
 */
_must_check_ int slow_opener_read_memory(struct slow_opener *opener, pid_t pid, uint64_t address,
					 void *ret, size_t size);

/* Read a file of /proc, as file_read_at() does. */
_must_check_ int slow_opener_read(struct slow_opener *opener, pid_t pid, const char *path,
				  size_t limit_bytes, struct text *ret);

#endif
