/*
 * The threads of a target of processes or threads, as they are when a recording begins.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TARGET_THREADS_H
#define COLLECT_TARGET_THREADS_H

#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"
#include "collect/sampler.h"
#include "collect/target.h"

/* All zero is empty. */
struct target_threads {
	ARRAY(pid_t) tids; /* each once */
};

void target_threads_release(struct target_threads *threads);

/*
 * List the threads of a target of processes or threads as they are now.
 *
 * Returns 0, -ESRCH (error names what is not there) or another negative errno with error filled.
 */
_must_check_ int target_threads_list(struct target_threads *threads, const struct target *target,
				     struct error *error);

/*
 * Tell the sampler that it wants every thread, then those that were started meanwhile by a thread
 * that was not wanted yet.
 *
 * Returns 0 or negative errno with error filled; a thread that is gone is no error.
 */
_must_check_ int target_threads_want(struct target_threads *threads, const struct target *target,
				     struct sampler *sampler, struct error *error);

#endif
