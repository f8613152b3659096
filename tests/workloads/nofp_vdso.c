/*
 * Reads the clock all the time, which is code of the kernel's in user space: nofp_vdso [SECONDS].
 */
#include "spin.h"

static volatile uint64_t last_ns;

/* Returns the CPU time: whoever asks for it goes through the same code. */
static __attribute__((noinline)) uint64_t read_clocks(void)
{
	for (int i = 0; i < 1000; i++)
		last_ns = read_clock_ns(CLOCK_MONOTONIC);
	return read_cpu_ns();
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_clocks() + read_duration_ns(argc, argv, 1, 1);

	while (read_clocks() < end_ns)
		;
	return 0;
}
