/*
 * Starts threads that wait, with a stack of 64 KiB each, and then works in one of them:
 * many_threads SECONDS THREADS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *wait_forever(void *context)
{
	for (;;)
		pause();
	return context;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	int num_threads = argc > 2 ? atoi(argv[2]) : 20000;
	pthread_attr_t attributes;
	int num_started = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (; num_started < num_threads; num_started++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, wait_forever, NULL))
			break;
	}
	printf("%d threads\n", num_started);
	fflush(stdout);
	while (time(NULL) < end)
		;
	return 0;
}
