/*
 * The threads of a target of processes or threads, at the start of a recording.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROCESSES_TARGET_THREADS_H
#define COLLECT_PROCESSES_TARGET_THREADS_H

#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/intern.h"
#include "collect/target.h"

struct target_id {
	pid_t id;
};
INTERN_TABLE(target_ids, struct target_id, id);

/* All zero is empty. */
struct target_threads {
	struct target_ids tids;
	/* For a target of processes: these, and their descendants unless excluded. */
	struct target_ids pids;
};

void target_threads_release(struct target_threads *threads);

/*
 * List the current threads of a target of processes or threads.
 *
 * Returns 0, -ESRCH (error has the missing process or thread) or another negative errno with error
 * filled.
 */
_must_check_ int target_threads_list(struct target_threads *threads, const struct target *target,
				     struct error *error);

/* Add the processes that those of the list have started, as they are now. Returns 0 or negative errno. */
_must_check_ int target_threads_add_descendants(struct target_threads *threads);

/*
 * Add every thread, and those of descendants, to the sampler's filter. Then add those started
 * meanwhile by threads that were not in the filter yet. The sampler follows the children of a
 * thread once it is in the filter, so any missing thread is visible in /proc by then.
 *
 * add_to_filter  adds one thread to the filter. Returns 0, also for a thread that has ended, or negative errno with error filled
 *
 * Returns 0 or negative errno with error filled.
 */
_must_check_ int target_threads_add(struct target_threads *threads, const struct target *target,
				    int (*add_to_filter)(void *context, pid_t tid,
							 struct error *error),
				    void *context, struct error *error);

#endif
