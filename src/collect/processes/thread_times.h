/*
 * The lifetimes of sampled threads during a recording: from its start or theirs to its end or
 * theirs. Threads without samples do not count.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROCESSES_THREAD_TIMES_H
#define COLLECT_PROCESSES_THREAD_TIMES_H

#include <stdint.h>

#include "base/attributes.h"

struct thread_times;

struct thread_times *thread_times_new(void); /* NULL when out of memory */
void thread_times_free(struct thread_times *times);

/*
 * Record events, in order of time. A thread without a recorded start existed before. A thread that
 * is sampled after its end goes on: some ends that the kernel reports are false. Return 0 or
 * -ENOMEM.
 */
_must_check_ int thread_times_start(struct thread_times *times, uint64_t time_ns, uint32_t pid,
				    uint32_t tid);
void thread_times_end(struct thread_times *times, uint64_t time_ns, uint32_t pid, uint32_t tid);
_must_check_ int thread_times_add_sample(struct thread_times *times, uint32_t pid, uint32_t tid);

/* Sum over the threads of the time from start_ns to end_ns. */
uint64_t thread_times_sum_ns(const struct thread_times *times, uint64_t start_ns, uint64_t end_ns);

#endif
