/*
 * Threads that sleep until the end: nofp_sleepers. Three named "reader" read a pipe that nobody writes to; one
 * named "napper" naps for 0.3 seconds again and again; the first one pauses.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

#define NOINLINE    __attribute__((noinline))
#define NUM_READERS 3

static int ends[2];

static NOINLINE void sleep_in_read(void)
{
	char byte;

	while (read(ends[0], &byte, 1) != 1)
		;
	__asm__ volatile("");
}

static NOINLINE void sleep_in_pause(void)
{
	for (;;)
		pause();
}

static NOINLINE void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 300 * NS_PER_MS}, NULL);
	__asm__ volatile("");
}

static void *run_reader(void *context)
{
	pthread_setname_np(pthread_self(), "reader");
	sleep_in_read();
	return context;
}

static void *run_napper(void *context)
{
	pthread_setname_np(pthread_self(), "napper");
	for (;;)
		nap();
	return context;
}

int main(void)
{
	pthread_t thread;

	if (pipe(ends))
		return 1;
	for (int i = 0; i < NUM_READERS; i++)
		if (pthread_create(&thread, NULL, run_reader, NULL))
			return 1;
	if (pthread_create(&thread, NULL, run_napper, NULL))
		return 1;
	sleep_in_pause();
	return 0;
}
