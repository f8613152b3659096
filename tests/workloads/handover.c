/*
 * Threads that wait for each other, and one that never waits: handover [SECONDS [FILE]].
 *
 * "ping" and "pong" hand a byte over through pipes while "burner" uses SECONDS of CPU time. Last
 * FILE (standard output) gets the burner's tid, its CPU time in ns, how often ping went to sleep,
 * by the kernel's account: now and then it is slower than pong, and need not; and the ns in which the
 * burner had a CPU, which it also has while an interrupt or the host takes it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

static int to_pong[2];
static int to_ping[2];
static uint64_t wanted_ns;
static uint64_t num_sleeps;
static uint64_t burnt_ns;
static uint64_t on_cpu_ns;
static long burner_tid;

static void *run_ping(void *argument)
{
	struct rusage usage;
	char byte = 'x';

	(void)argument;
	pthread_setname_np(pthread_self(), "ping");
	while (write(to_pong[1], &byte, 1) == 1 && read(to_ping[0], &byte, 1) == 1 && byte == 'x')
		;
	getrusage(RUSAGE_THREAD, &usage);
	num_sleeps = (uint64_t)usage.ru_nvcsw;
	return NULL;
}

static void *run_pong(void *argument)
{
	const bool *is_over = argument;
	char byte;

	pthread_setname_np(pthread_self(), "pong");
	while (read(to_pong[0], &byte, 1) == 1) {
		usleep(500);
		byte = __atomic_load_n(is_over, __ATOMIC_ACQUIRE) ? '.' : 'x';
		if (write(to_ping[1], &byte, 1) != 1 || byte == '.')
			break;
	}
	return NULL;
}

/* The time in run queues of the calling thread: the second number of its schedstat. */
static uint64_t read_queue_ns(void)
{
	unsigned long long running, queued;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file || fscanf(file, "%llu %llu", &running, &queued) != 2)
		abort();
	fclose(file);
	return queued;
}

static void *run_burner(void *argument)
{
	struct rusage usage;
	uint64_t start_ns;
	uint64_t queue_ns;

	(void)argument;
	pthread_setname_np(pthread_self(), "burner");
	burner_tid = syscall(SYS_gettid);
	queue_ns = read_queue_ns();
	start_ns = read_clock_ns(CLOCK_MONOTONIC);
	spin_cpu_ns(wanted_ns);
	on_cpu_ns = read_clock_ns(CLOCK_MONOTONIC) - start_ns - (read_queue_ns() - queue_ns);
	getrusage(RUSAGE_THREAD, &usage);
	burnt_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SECOND +
		   (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	return NULL;
}

int main(int argc, char **argv)
{
	static bool is_over;
	pthread_t ping, pong, burner;
	FILE *file = argc > 2 ? fopen(argv[2], "w") : stdout;

	wanted_ns = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	if (!file || pipe(to_pong) || pipe(to_ping) ||
	    pthread_create(&ping, NULL, run_ping, NULL) ||
	    pthread_create(&pong, NULL, run_pong, &is_over) ||
	    pthread_create(&burner, NULL, run_burner, NULL))
		return 1;
	pthread_join(burner, NULL);
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(ping, NULL);
	pthread_join(pong, NULL);
	fprintf(file, "%ld %llu %llu %llu\n", burner_tid, (unsigned long long)burnt_ns,
		(unsigned long long)num_sleeps, (unsigned long long)on_cpu_ns);
	return fclose(file) ? 1 : 0;
}
