/*
 * Two threads, one after the other, that have the same tid: same_tid [SECONDS].
 *
 * "early" uses SECONDS of CPU time and ends, then "late" does. Prints their tid; status 3 when the
 * kernel gave it to others. Needs the permission to choose the next pid.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

#define MAX_ATTEMPTS 500

static uint64_t wanted_ns = 300000000;
static long tid; /* of the first */

static void *run_early(void *argument)
{
	(void)argument;
	pthread_setname_np(pthread_self(), "early");
	tid = syscall(SYS_gettid);
	spin_cpu_ns(wanted_ns);
	return NULL;
}

static void *run_late(void *argument)
{
	int *has_run = argument;

	if (syscall(SYS_gettid) != tid)
		return NULL;
	pthread_setname_np(pthread_self(), "late");
	spin_cpu_ns(wanted_ns);
	*has_run = 1;
	return NULL;
}

/* Have the next pid of the system be the tid, unless others are faster. */
static int choose_next_pid(void)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");

	return file && fprintf(file, "%ld", tid - 1) > 0 && fclose(file) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int has_run = 0;

	if (argc > 1)
		wanted_ns = (uint64_t)(atof(argv[1]) * 1e9);
	if (pthread_create(&thread, NULL, run_early, NULL) || pthread_join(thread, NULL))
		return 1;
	for (int i = 0; i < MAX_ATTEMPTS && !has_run; i++)
		if (choose_next_pid() || pthread_create(&thread, NULL, run_late, &has_run) ||
		    pthread_join(thread, NULL))
			return 1;
	if (!has_run)
		return 3;
	printf("%ld\n", tid);
	return 0;
}
