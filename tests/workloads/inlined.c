/* Calls inlined two levels deep, `outer;middle_i;inner_i`, where the machine has only outer:
   inlined [SECONDS]. */
#include "spin.h"

static volatile unsigned result;

static inline __attribute__((always_inline)) void inner_i(unsigned seed)
{
	for (unsigned i = 0; i < 100000; i++)
		result = result * 31 + (seed ^ i);
}

static inline __attribute__((always_inline)) void middle_i(unsigned seed)
{
	for (unsigned i = 0; i < 4; i++)
		inner_i(seed + i);
}

/* A variable on the stack: without one GCC gives a function that calls nothing no frame. */
static __attribute__((noinline)) void outer(unsigned seed)
{
	volatile unsigned on_stack = seed;

	middle_i(seed);
	result += on_stack;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	for (unsigned seed = 0; read_cpu_ns() < end_ns; seed++)
		outer(seed);
	return 0;
}
