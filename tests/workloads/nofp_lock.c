/*
 * Two threads and one lock: nofp_lock [SECONDS]. "worker-3" holds it for five milliseconds again and again, in
 * flush_log(); the first one waits for it in take_lock(). Prints where the lock is, and how many nanoseconds the
 * first one was off its CPU for it, as its own clocks say.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

#include "spin.h"

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_over;

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static NOINLINE void flush_log(void)
{
	pthread_mutex_lock(&mutex);
	sleep_ns(5 * NS_PER_MS);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

static void *run_worker(void *context)
{
	pthread_setname_np(pthread_self(), "worker-3");
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		flush_log();
		sleep_ns(NS_PER_MS);
	}
	return context;
}

static NOINLINE void take_lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

static long count_sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* A thread that had not to wait may have been preempted: that is not for the lock. */
static uint64_t measure_take_lock(void)
{
	long num_sleeps = count_sleeps();
	uint64_t cpu_ns = read_cpu_ns();
	uint64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC);
	uint64_t time_ns;

	take_lock();
	time_ns = read_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	cpu_ns = read_cpu_ns() - cpu_ns;
	return count_sleeps() == num_sleeps || cpu_ns > time_ns ? 0 : time_ns - cpu_ns;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + read_duration_ns(argc, argv, 1, 1);
	uint64_t waited_ns = 0;
	pthread_t worker;

	if (pthread_create(&worker, NULL, run_worker, NULL))
		return 1;
	while (read_clock_ns(CLOCK_MONOTONIC) < end_ns)
		waited_ns += measure_take_lock();
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(worker, NULL);
	printf("%p %llu\n", (void *)&mutex, (unsigned long long)waited_ns);
	return 0;
}
