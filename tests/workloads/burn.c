/* Three functions that use 60, 30 and 10 % of its CPU time: burn [SECONDS]. */
#include "spin.h"

/* In small turns; what a turn used too much is taken off the next one. */
#define DEFINE_BURN(name, turn_ns)                                          \
	static __attribute__((noinline)) void name(void)                    \
	{                                                                   \
		static int64_t owed_ns;                                     \
                                                                            \
		owed_ns += (int64_t)(turn_ns);                              \
		if (owed_ns > 0)                                            \
			owed_ns -= (int64_t)spin_cpu_ns((uint64_t)owed_ns); \
	}

DEFINE_BURN(burn_60, 6 * NS_PER_MS)
DEFINE_BURN(burn_30, 3 * NS_PER_MS)
DEFINE_BURN(burn_10, 1 * NS_PER_MS)

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	while (read_cpu_ns() < end_ns) {
		burn_60();
		burn_30();
		burn_10();
	}
	return 0;
}
