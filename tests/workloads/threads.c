/* Threads with names of their own, each in a function of its own: threads [SECONDS [N]], N ≤ 8. */
#include <pthread.h>
#include <stdio.h>

#include "spin.h"

static uint64_t duration_ns;

#define DEFINE_WORK(letter)                                       \
	static __attribute__((noinline)) void work_##letter(void) \
	{                                                         \
		spin_cpu_ns(duration_ns);                         \
	}

DEFINE_WORK(a)
DEFINE_WORK(b)
DEFINE_WORK(c)
DEFINE_WORK(d)
DEFINE_WORK(e)
DEFINE_WORK(f)
DEFINE_WORK(g)
DEFINE_WORK(h)

static void (*const work[])(void) = {work_a, work_b, work_c, work_d,
				     work_e, work_f, work_g, work_h};

#define MAX_THREADS ((int)(sizeof(work) / sizeof(work[0])))

static void *run_thread(void *argument)
{
	int number = (int)(intptr_t)argument;
	char name[16];

	snprintf(name, sizeof(name), "worker-%c", 'a' + number);
	pthread_setname_np(pthread_self(), name);
	work[number]();
	return NULL;
}

int main(int argc, char **argv)
{
	int num_threads = argc > 2 ? atoi(argv[2]) : 3;
	pthread_t threads[MAX_THREADS];

	if (num_threads < 1 || num_threads > MAX_THREADS)
		return 2;
	duration_ns = read_duration_ns(argc, argv, 1, 1);
	for (int i = 0; i < num_threads; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i) != 0)
			return 1;
	for (int i = 0; i < num_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
