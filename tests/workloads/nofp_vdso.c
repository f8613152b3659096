/*
 * Reads the clock all the time, which is code of the kernel's in user space: nofp_vdso [SECONDS].
 */
#include "spin.h"

static volatile uint64_t last_ns;

static __attribute__((noinline)) void read_clocks(void)
{
	for (int i = 0; i < 1000; i++)
		last_ns = read_clock_ns(CLOCK_MONOTONIC);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + read_duration_ns(argc, argv, 1, 1);

	do
		read_clocks();
	while (last_ns < end_ns);
	return 0;
}
