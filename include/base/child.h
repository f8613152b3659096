/* Processes that we have started and watch: none may keep us waiting. Thread-safe. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attributes.h"

/* Its CPU time so far; 0: it is gone. */
uint64_t child_read_cpu_ns(pid_t child);

/* What one that has ended has used, as wait4() says. */
uint64_t child_get_cpu_ns(const struct rusage *usage);

/* Let it go on if somebody has stopped it (SIGSTOP). Its end is left to be waited for. */
void child_continue(pid_t child);

/*
 * Wait for its end, so long at most. Returns whether it has ended, with its wait status.
 */
_must_check_ bool child_reap(pid_t child, unsigned int limit_ms, int *ret_wait_status);

#endif
