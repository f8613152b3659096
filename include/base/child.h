/* Processes that we have started and watch: none may keep us waiting. Thread-safe. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attributes.h"

/* CPU time of a child so far; 0: it is gone. */
uint64_t child_read_cpu_ns(pid_t child);

/* CPU time of a child that has ended, from the usage that wait4() returned. */
uint64_t child_get_cpu_ns(const struct rusage *usage);

/* Continue it if somebody has stopped it (SIGSTOP). Does not reap it. */
void child_continue(pid_t child);

/* Wait at most this long for its end. Returns whether it has ended, with its wait status. */
_must_check_ bool child_reap(pid_t child, unsigned int limit_ms, int *ret_wait_status);

#endif
