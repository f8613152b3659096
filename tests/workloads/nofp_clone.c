/*
 * Threads that do next to nothing, one after the other: much of their time is their first way out of the kernel, where nobody has
 * called them yet. nofp_clone [SECONDS].
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static volatile long counter;

static __attribute__((noinline)) void *run_briefly(void *argument)
{
	for (int i = 0; i < 1000; i++)
		counter++;
	return argument;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	pthread_t thread;

	while (time(NULL) < end) {
		if (pthread_create(&thread, NULL, run_briefly, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
