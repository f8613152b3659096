/*
 * The threads of a target, each of which gets its own sampling event.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_THREAD_EVENTS_H
#define COLLECT_THREAD_EVENTS_H

#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"
#include "collect/sampler.h"
#include "collect/target.h"

/* All zero is empty. */
struct thread_events {
	ARRAY(pid_t) tids; /* each once */
};

void thread_events_release(struct thread_events *events);

/*
 * List the threads of a target of processes or threads as they are now.
 *
 * Returns 0, -ESRCH (error names what is not there) or another negative errno with error filled.
 */
_must_check_ int thread_events_list(struct thread_events *events, const struct target *target,
				    struct error *error);

/*
 * Give every thread its tick, then look for threads that were started meanwhile: they may or may
 * not have inherited one, which the sampling program can tell.
 *
 * Returns 0 or negative errno with error filled; a thread that is gone is no error.
 */
_must_check_ int thread_events_open(struct thread_events *events, const struct target *target,
				    struct sampler *sampler, struct error *error);

#endif
