/*
 * Starts threads that wait for their first CPU: nofp_started [NUMBER]. Its own thread has the only CPU for three
 * milliseconds then, as a real-time one. Prints how many ns the kernel says that they waited, at least and at most,
 * and how many they were. Ends with 77 where it may not be real-time.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

#define SPIN_NS (3 * NS_PER_MS)

struct first_waits {
	uint64_t least_ns;
	uint64_t most_ns;
};

/*
 * The second number of the schedstat is the time in run queues, the third how often it has got a CPU. A thread that
 * was preempted before it could read them waited twice, and nobody knows how long the first time.
 */
static void *run_started(void *argument)
{
	struct first_waits *waits = argument;
	unsigned long long running = 0, queued = 0, slices = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file || fscanf(file, "%llu %llu %llu", &running, &queued, &slices) != 3)
		abort();
	fclose(file);
	if (slices == 1)
		waits->least_ns += queued;
	waits->most_ns += queued;
	return NULL;
}

static void use_one_cpu(void)
{
	cpu_set_t cpus;
	int cpu = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

int main(int argc, char **argv)
{
	long number = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
	struct sched_param highest = {.sched_priority = 1};
	struct sched_param ordinary = {0};
	struct first_waits waits = {0};
	pthread_attr_t attributes;

	use_one_cpu();
	if (sched_setscheduler(0, SCHED_FIFO, &highest))
		return 77;
	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &ordinary);
	for (long i = 0; i < number; i++) {
		uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + SPIN_NS;
		pthread_t thread;

		if (pthread_create(&thread, &attributes, run_started, &waits))
			return 1;
		while (read_clock_ns(CLOCK_MONOTONIC) < end_ns)
			;
		pthread_join(thread, NULL);
	}
	printf("%llu %llu %ld\n", (unsigned long long)waits.least_ns,
	       (unsigned long long)waits.most_ns, number);
	return 0;
}
