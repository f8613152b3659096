/*
 * What a recording's target has become: the processes that were asked for and all that they have
 * started since, for a recording that takes over from another.
 */
#ifndef COLLECT_HEIRS_H
#define COLLECT_HEIRS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "process/process_table.h"

/*
 * pids  that were asked for
 * ret   pids that still run; the caller frees
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int heirs_list(const struct process_table *processes, const pid_t *pids,
			    size_t num_pids, pid_t **ret, size_t *ret_count);

#endif
