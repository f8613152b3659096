/* The first thread ends, and another one burns on: first_thread_ends [SECONDS]. */
#include <pthread.h>

#include "spin.h"

static uint64_t duration_ns;

static __attribute__((noinline)) void second_thread_burn(void)
{
	spin_cpu_ns(duration_ns);
}

static void *run_thread(void *argument)
{
	second_thread_burn();
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	duration_ns = read_duration_ns(argc, argv, 1, 1);
	if (pthread_create(&thread, NULL, run_thread, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}
