/*
 * Two processes that hand a byte to each other on one CPU, below ten levels of stack: nofp_pingpong
 * [ROUNDS]. Prints the ns that a switch between them took.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static int to_pong[2];
static int to_ping[2];

static __attribute__((noinline)) void answer(long num_rounds)
{
	char byte;

	for (long i = 0; i < num_rounds; i++)
		if (read(to_pong[0], &byte, 1) != 1 || write(to_ping[1], &byte, 1) != 1)
			_exit(1);
}

static __attribute__((noinline)) int ask(int depth, long num_rounds)
{
	char byte = 0;

	if (depth)
		return ask(depth - 1, num_rounds) + 1;
	for (long i = 0; i < num_rounds; i++)
		if (write(to_pong[1], &byte, 1) != 1 || read(to_ping[0], &byte, 1) != 1)
			_exit(1);
	return 0;
}

int main(int argc, char **argv)
{
	long num_rounds = argc > 1 ? atol(argv[1]) : 100000;
	cpu_set_t cpus;
	int cpu = CPU_SETSIZE;
	uint64_t start_ns;
	pid_t pong;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(--cpu, &cpus))
		;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (num_rounds < 1 || pipe(to_pong) || pipe(to_ping) ||
	    sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	pong = fork();
	if (!pong) {
		answer(num_rounds);
		_exit(0);
	}
	start_ns = read_clock_ns(CLOCK_MONOTONIC);
	ask(10, num_rounds);
	printf("%.0f\n",
	       (double)(read_clock_ns(CLOCK_MONOTONIC) - start_ns) / (2.0 * (double)num_rounds));
	waitpid(pong, NULL, 0);
	return 0;
}
