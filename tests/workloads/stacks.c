/* As many distinct stacks as it can: every turn takes another way down a tree of calls, 16384 ways
   of 14 levels: stacks [SECONDS]. */
#include "spin.h"

#define NUM_LEVELS 14

static volatile int num_returns;

static void walk(unsigned way, int level);

static __attribute__((noinline)) void go_left(unsigned way, int level)
{
	walk(way >> 1, level);
	num_returns++;
}

static __attribute__((noinline)) void go_right(unsigned way, int level)
{
	walk(way >> 1, level);
	num_returns += 2;
}

static __attribute__((noinline)) void walk(unsigned way, int level)
{
	if (level == NUM_LEVELS)
		spin_once();
	else if (way & 1)
		go_right(way, level + 1);
	else
		go_left(way, level + 1);
	num_returns++;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	for (unsigned turn = 0; read_cpu_ns() < end_ns; turn++)
		walk(turn, 0);
	return num_returns == 0;
}
