/*
 * Twelve functions that use the same CPU time, and one, tuned, that uses FACTOR times as much:
 * tuned [SECONDS [FACTOR]].
 */
#include "spin.h"

#define TURN_NS (NS_PER_MS / 2)

#define DEFINE_STEADY(name)                              \
	static __attribute__((noinline)) void name(void) \
	{                                                \
		static double owed_ns;                   \
                                                         \
		spin_turn(&owed_ns, TURN_NS);            \
	}

DEFINE_STEADY(steady_a)
DEFINE_STEADY(steady_b)
DEFINE_STEADY(steady_c)
DEFINE_STEADY(steady_d)
DEFINE_STEADY(steady_e)
DEFINE_STEADY(steady_f)
DEFINE_STEADY(steady_g)
DEFINE_STEADY(steady_h)
DEFINE_STEADY(steady_i)
DEFINE_STEADY(steady_j)
DEFINE_STEADY(steady_k)
DEFINE_STEADY(steady_l)

static __attribute__((noinline)) void tuned(double factor)
{
	static double owed_ns;

	spin_turn(&owed_ns, factor * TURN_NS);
}

int main(int argc, char **argv)
{
	static void (*const steady[])(void) = {
		steady_a, steady_b, steady_c, steady_d, steady_e, steady_f,
		steady_g, steady_h, steady_i, steady_j, steady_k, steady_l,
	};
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	double factor = argc > 2 ? atof(argv[2]) : 1;

	while (read_cpu_ns() < end_ns) {
		for (size_t i = 0; i < sizeof(steady) / sizeof(steady[0]); i++)
			steady[i]();
		tuned(factor);
	}
	return 0;
}
