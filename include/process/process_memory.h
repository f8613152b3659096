/*
 * Memory of another process, read without waiting for pages that may never arrive (slow_opener.h).
 */
#ifndef PROCESS_PROCESS_MEMORY_H
#define PROCESS_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

struct slow_opener;

struct process_memory {
	struct slow_opener *opener; /* NULL: wait for it */
	pid_t pid;
};

#define PROCESS_MEMORY_MAX_BYTES (64u << 10)

/*
 * Read bytes at an address, at most PROCESS_MEMORY_MAX_BYTES. The signature is that of a reader
 * with a context.
 *
 * process_memory  the struct process_memory
 *
 * Returns 0, or negative errno if not all can be read: -EFAULT if not all is mapped; -ESRCH,
 * -EPERM, -EINVAL, -ETIMEDOUT (also without an attempt, after too many time-outs).
 */
_must_check_ int process_memory_read(void *process_memory, uint64_t address, void *ret,
				     size_t size);

#endif
