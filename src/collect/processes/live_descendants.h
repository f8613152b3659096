/*
 * The live descendants of a recording's target: its processes that are still running, and all that
 * they have started since. A recording that takes over from another (flight recorder, rotation)
 * needs them as its own target.
 */
#ifndef COLLECT_PROCESSES_LIVE_DESCENDANTS_H
#define COLLECT_PROCESSES_LIVE_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "process/process_table.h"

/*
 * pids  the requested ones
 * ret   pids that are still running; the caller frees
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int live_descendants_list(const struct process_table *processes, const pid_t *pids,
				       size_t num_pids, pid_t **ret, size_t *ret_count);

#endif
