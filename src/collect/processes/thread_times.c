#include "collect/processes/thread_times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/intern.h"

struct lifetime {
	uint64_t start_ns; /* 0: before the recording */
	uint64_t end_ns;   /* UINT64_MAX: not yet */
};

/* The last thread that had a tid: there are never more than the kernel has tids. */
struct thread_time {
	uint32_t pid;
	uint32_t tid;
	bool is_sampled;
	struct lifetime lifetime;
};
INTERN_TABLE(thread_time_table, struct thread_time, tid);

struct thread_times {
	struct thread_time_table threads;
	ARRAY(struct lifetime) others; /* of threads with samples whose tid was reused */
};

struct thread_times *thread_times_new(void)
{
	return calloc(1, sizeof(struct thread_times));
}

void thread_times_free(struct thread_times *times)
{
	if (!times)
		return;
	thread_time_table_release(&times->threads);
	array_release(&times->others);
	free(times);
}

static int set_aside(struct thread_times *times, const struct thread_time *thread)
{
	struct lifetime *added;

	if (!thread->is_sampled)
		return 0;
	added = array_add(&times->others);
	if (!added)
		return -ENOMEM;
	*added = thread->lifetime;
	return 0;
}

/* The end of a thread before it may have been lost. */
int thread_times_start(struct thread_times *times, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	struct thread_time started = {.pid = pid, .tid = tid, .lifetime = {time_ns, UINT64_MAX}};
	struct thread_time *thread;
	uint32_t item;
	int err = thread_time_table_intern(&times->threads, &started, &item);

	if (err)
		return err;
	thread = &times->threads.items[item];
	if (thread->lifetime.start_ns == time_ns)
		return 0;
	if (thread->lifetime.end_ns > time_ns)
		thread->lifetime.end_ns = time_ns;
	err = set_aside(times, thread);
	if (err)
		return err;
	*thread = started;
	return 0;
}

void thread_times_end(struct thread_times *times, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	uint32_t item = thread_time_table_find(&times->threads, &(struct thread_time){.tid = tid});

	if (item != HASH_INDEX_NONE && times->threads.items[item].pid == pid)
		times->threads.items[item].lifetime.end_ns = time_ns;
}

/* A thread of another process than recorded: its start was lost, and so was the other's end. */
int thread_times_add_sample(struct thread_times *times, uint32_t pid, uint32_t tid)
{
	struct thread_time sampled = {.pid = pid, .tid = tid, .lifetime = {0, UINT64_MAX}};
	struct thread_time *thread;
	uint32_t item;
	int err = thread_time_table_intern(&times->threads, &sampled, &item);

	if (err)
		return err;
	thread = &times->threads.items[item];
	thread->is_sampled = true;
	thread->pid = pid;
	thread->lifetime.end_ns = UINT64_MAX;
	return 0;
}

static uint64_t get_overlap(const struct lifetime *lifetime, uint64_t start_ns, uint64_t end_ns)
{
	if (lifetime->start_ns > start_ns)
		start_ns = lifetime->start_ns;
	if (lifetime->end_ns < end_ns)
		end_ns = lifetime->end_ns;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

uint64_t thread_times_sum_ns(const struct thread_times *times, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t sum_ns = 0;

	array_for_each (&times->threads, thread)
		if (thread->is_sampled)
			sum_ns += get_overlap(&thread->lifetime, start_ns, end_ns);
	array_for_each (&times->others, lifetime)
		sum_ns += get_overlap(lifetime, start_ns, end_ns);
	return sum_ns;
}
