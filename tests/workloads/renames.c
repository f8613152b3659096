/*
 * Threads that change their names: renames [SECONDS].
 *
 * One uses SECONDS of CPU time as "early-busy" and as much as "late-busy"; the other one sleeps a
 * thousand times as "early-idle" and as often as "late-idle", so that few samples or none show it.
 */
#include <pthread.h>
#include <unistd.h>

#include "spin.h"

static uint64_t wanted_ns;

static void *be_busy(void *argument)
{
	(void)argument;
	pthread_setname_np(pthread_self(), "early-busy");
	spin_cpu_ns(wanted_ns);
	pthread_setname_np(pthread_self(), "late-busy");
	spin_cpu_ns(wanted_ns);
	return NULL;
}

static void sleep_often(void)
{
	for (int i = 0; i < 1000; i++)
		usleep(200);
}

static void *be_idle(void *argument)
{
	(void)argument;
	pthread_setname_np(pthread_self(), "early-idle");
	sleep_often();
	pthread_setname_np(pthread_self(), "late-idle");
	sleep_often();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t busy, idle;

	wanted_ns = read_duration_ns(argc, argv, 1, 0.5);
	if (pthread_create(&busy, NULL, be_busy, NULL) ||
	    pthread_create(&idle, NULL, be_idle, NULL))
		return 1;
	pthread_join(busy, NULL);
	pthread_join(idle, NULL);
	return 0;
}
