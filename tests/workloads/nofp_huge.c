/*
 * A frame of 600 KB that is hardly touched, as compilers have it, on the first thread and on another one. Then it waits
 * for a signal: nofp_huge [SECONDS].
 */
#include <pthread.h>
#include <unistd.h>

#include "spin.h"

#define HUGE_BYTES 600000

static volatile int num_returns;

static __attribute__((noinline)) void in_huge(uint64_t cpu_ns)
{
	(void)spin_cpu_ns(cpu_ns);
	num_returns++;
}

static __attribute__((noinline)) void huge(uint64_t cpu_ns)
{
	char room[HUGE_BYTES];

	__asm__ volatile("" ::"r"(room) : "memory");
	in_huge(cpu_ns);
	num_returns++;
}

static __attribute__((noinline)) void *run_huge(void *cpu_ns)
{
	huge(*(uint64_t *)cpu_ns);
	num_returns++;
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t cpu_ns = read_duration_ns(argc, argv, 1, 1) / 2;
	pthread_t thread;

	huge(cpu_ns);
	if (pthread_create(&thread, NULL, run_huge, &cpu_ns))
		return 1;
	pthread_join(thread, NULL);
	pause();
	return 0;
}
