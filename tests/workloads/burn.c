/* Three functions that use 60, 30 and 10 % of its CPU time: burn [SECONDS]. */
#include "spin.h"

#define DEFINE_BURN(name, turn_ns)                       \
	static __attribute__((noinline)) void name(void) \
	{                                                \
		static double owed_ns;                   \
                                                         \
		spin_turn(&owed_ns, turn_ns);            \
	}

DEFINE_BURN(burn_60, 0.6 * NS_PER_MS)
DEFINE_BURN(burn_30, 0.3 * NS_PER_MS)
DEFINE_BURN(burn_10, 0.1 * NS_PER_MS)

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
