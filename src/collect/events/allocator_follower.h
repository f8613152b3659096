/*
 * Follows allocators in files that are first mapped while the recording runs: a program with an
 * allocator of its own that is started later, a container's libc, a library that is loaded late.
 * A thread looks into each such file, by a process without rights (elf_worker.h), and has probes
 * attached. Earlier allocations of such a file are missing.
 *
 * From the mapping to the probes it takes some ms, and up to seconds on a busy machine
 * (max_delay_ns). Attaching may hang as long as a process keeps its memory map locked. So nobody
 * waits for the thread but the end of the recording, and that only for some seconds.
 *
 * The programs are hostile: a user may map any number of files with an allocator. Files that are
 * looked into, those that are followed, and their probes have limits, which users share
 * (owner_shares.h). Each file beyond a limit is counted.
 *
 * All functions are called by one thread.
 */
#ifndef COLLECT_EVENTS_ALLOCATOR_FOLLOWER_H
#define COLLECT_EVENTS_ALLOCATOR_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "collect/account.h"
#include "collect/elf/elf_worker.h"
#include "collect/events.h"
#include "process/file_table.h"

struct probe_site;
struct allocator_follower;

struct allocator_follower_opts {
	/* The events of the recording; borrowed for allocator_follower_new() and _add(). */
	const struct event *events;
	size_t num_events;
	bool is_shared;           /* the programs of several users are recorded */
	uid_t worker_user;        /* user of the process that reads the files, if we are root */
	bool keeps_administrator; /* attaching needs CAP_SYS_ADMIN */
};

struct site_attacher {
	/*
	 * Attach an event's program to sites of a file, until the recording ends. Called by the
	 * thread. Returns 0; -ESHUTDOWN: the recording ends; or another negative errno.
	 */
	int (*attach)(void *context, size_t event, const struct probe_site *sites, size_t count);
	void *context; /* borrowed until allocator_follower_free() returns true */
};

/* Whether one of the events probes allocators. */
bool allocator_follower_is_needed(const struct event *events, size_t num_events);

/* Starts processes: best before there are threads. Returns 0 or negative errno. */
_must_check_ int allocator_follower_new(const struct allocator_follower_opts *opts,
					struct allocator_follower **ret);
/*
 * NULL is fine. Returns whether the thread has ended. If not, it hangs in the kernel: it still uses
 * the context, and its own memory, which is not freed.
 */
bool allocator_follower_free(struct allocator_follower *follower);

/* Start the thread. The attacher is copied. Returns 0 or negative errno. */
_must_check_ int allocator_follower_start(struct allocator_follower *follower,
					  const struct site_attacher *attacher);

/* A file was mapped and opened. */
void allocator_follower_add(struct allocator_follower *follower,
			    const struct opened_mapping *mapping);

/*
 * Nothing is attached from now on. Files that wait are looked into for two seconds at most, to
 * count those with an allocator. NULL is fine.
 */
void allocator_follower_close(struct allocator_follower *follower);

/*
 * Wait for the end of the thread, for some seconds at most; closes it first. NULL is fine.
 *
 * The paths are borrowed from the follower.
 */
struct late_allocators allocator_follower_finish(struct allocator_follower *follower);

/* CPU time and memory of its processes; of those that have ended, once it is finished. NULL is fine. */
struct elf_worker_cost allocator_follower_get_cost(const struct allocator_follower *follower);

#endif
