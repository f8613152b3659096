/*
 * Start time of the thread with a tid. The kernel reuses tids: two threads of one process may have
 * had the same, one after the other.
 */
#ifndef COLLECT_TRACE_THREAD_STARTS_H
#define COLLECT_TRACE_THREAD_STARTS_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/spool.h"

/* The kernel started a thread of a process that was there already. */
struct thread_start {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t tid;
};

struct thread_starts;

/* spool  of struct thread_start, in order of time; borrowed. NULL when out of memory. */
struct thread_starts *thread_starts_new(struct spool *spool);
void thread_starts_free(struct thread_starts *starts);

/* Advance to a time, which must not go back. Returns 0, -ENOMEM, or an error of the spool. */
_must_check_ int thread_starts_go_to(struct thread_starts *starts, uint64_t time_ns);

/* Start of the thread with the tid at this time; 0: before the recording. */
uint64_t thread_starts_find(const struct thread_starts *starts, uint32_t pid, uint32_t tid);

#endif
