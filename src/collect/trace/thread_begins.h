/*
 * Start time of the thread with a tid. The kernel reuses tids: two threads of one process may have
 * had the same, one after the other.
 */
#ifndef COLLECT_TRACE_THREAD_BEGINS_H
#define COLLECT_TRACE_THREAD_BEGINS_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/spool.h"

/* The kernel started a thread of a process that was there already. */
struct thread_begin {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t tid;
};

struct thread_begins;

/* spool  of struct thread_begin, in order of time; borrowed. NULL when out of memory. */
struct thread_begins *thread_begins_new(struct spool *spool);
void thread_begins_free(struct thread_begins *begins);

/* Advance to a time, which must not go back. Returns 0, -ENOMEM, or an error of the spool. */
_must_check_ int thread_begins_go_to(struct thread_begins *begins, uint64_t time_ns);

/* Start of the thread with the tid at this time; 0: before the recording. */
uint64_t thread_begins_find(const struct thread_begins *begins, uint32_t pid, uint32_t tid);

#endif
