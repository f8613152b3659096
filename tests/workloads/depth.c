/*
 * A stack of DEPTH calls that stays as it is, for what one sample costs: depth [SECONDS [DEPTH]].
 * With a third argument, TURNS, it does so much work however long that takes, and prints how long
 * it took in nanoseconds. nofp_depth is the same without frame pointers.
 */
#include <stdio.h>

#include "spin.h"

static uint64_t duration_ns;
static uint64_t num_turns;
static volatile int num_returns;

static void spin_turns(void)
{
	uint64_t start_ns = read_clock_ns(CLOCK_MONOTONIC);

	for (uint64_t turn = 0; turn < num_turns; turn++)
		spin_once();
	printf("%llu\n", (unsigned long long)(read_clock_ns(CLOCK_MONOTONIC) - start_ns));
}

static __attribute__((noinline)) void go_down(int depth)
{
	char room[64];

	__asm__ volatile("" ::"r"(room) : "memory");
	if (depth > 0)
		go_down(depth - 1);
	else if (num_turns)
		spin_turns();
	else
		spin_cpu_ns(duration_ns);
	__asm__ volatile("" ::"r"(room) : "memory");
	num_returns++;
}

int main(int argc, char **argv)
{
	duration_ns = read_duration_ns(argc, argv, 1, 1);
	num_turns = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	go_down(argc > 2 ? atoi(argv[2]) : 20);
	return num_returns == 0;
}
