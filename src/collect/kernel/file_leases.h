/*
 * Leases on files that have probes. The kernel keeps a breakpoint at an offset of a file, whatever
 * its bytes are by now: a program that is overwritten in place would crash. Whoever opens a leased
 * file for writing, or truncates it, waits until its probes have been taken away.
 *
 * Thread-safe. Source: fcntl(2), F_SETLEASE.
 */
#ifndef COLLECT_KERNEL_FILE_LEASES_H
#define COLLECT_KERNEL_FILE_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

struct file_leases;

struct leased_file {
	dev_t device;
	ino_t inode;
};

struct file_leases_user {
	/*
	 * Take all probes of the file away. A thread of the leases calls it, and gives the lease
	 * back. Returns false if it could not be done yet: it is called again.
	 */
	bool (*let_go)(void *context, const struct leased_file *file);
	void *context; /* borrowed until file_leases_free() */
};

/* Files with a lease that was given back. */
struct broken_leases {
	size_t count;
	const char *first_path; /* NULL: no file. Borrowed from the leases */
};

/* Starts a thread. Returns 0 or negative errno. */
_must_check_ int file_leases_new(const struct file_leases_user *user, struct file_leases **ret);
/* From now on leases are given back: the user is ready. */
void file_leases_start(struct file_leases *leases);
void file_leases_free(struct file_leases *leases); /* NULL is fine */

/*
 * Take a lease on a file, unless there is one. Between the two calls no lease is given back: probes are
 * attached then.
 *
 * fd   of the file, for reading alone; not kept
 * ret  the file; its number is filled on failure, too
 *
 * Returns 0; -EAGAIN: somebody may write it; -EINVAL: its file system has no leases; -EACCES:
 * it is another user's, and we may not act for them; or another negative errno.
 */
_must_check_ int file_leases_begin(struct file_leases *leases, int fd, struct leased_file *ret);
void file_leases_end(struct file_leases *leases);

/* NULL is fine. */
struct broken_leases file_leases_get_broken(struct file_leases *leases);
/* How often the lease of a file was given back. Never waits for the user. NULL is fine. */
uint64_t file_leases_count_returned(struct file_leases *leases, const struct leased_file *file);

#endif
