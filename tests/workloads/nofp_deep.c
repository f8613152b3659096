/*
 * A known chain of 66 calls, level_00 to level_65, walked down and up again and again without
 * frame pointers: nofp_deep [SECONDS].
 *
 * Every level has a frame of another size, and uses rbp for something else.
 */
#include "spin.h"

static volatile int num_returns;

static __attribute__((noinline)) void level_65(void)
{
	for (int i = 0; i < 1000; i++)
		__asm__ volatile("" ::"r"(i) : "memory");
	num_returns++;
}

/* The 1 before the number keeps 08 from being octal. */
#define LEVEL(number, next)                                                                \
	static void level_##next(void);                                                    \
	static __attribute__((noinline)) void level_##number(void)                         \
	{                                                                                  \
		char room[(1##number % 16 + 1) * 8];                                       \
                                                                                           \
		__asm__ volatile("" ::"r"(room) : "memory", "rbx", "rbp", "r12");          \
		level_##next();                                                            \
		__asm__ volatile("xor %%ebp, %%ebp" ::"r"(room) : "memory", "rbp", "r13"); \
		num_returns++;                                                             \
	}

#define TEN_LEVELS(ten, next_ten) \
	LEVEL(ten##0, ten##1)     \
	LEVEL(ten##1, ten##2)     \
	LEVEL(ten##2, ten##3)     \
	LEVEL(ten##3, ten##4)     \
	LEVEL(ten##4, ten##5)     \
	LEVEL(ten##5, ten##6)     \
	LEVEL(ten##6, ten##7)     \
	LEVEL(ten##7, ten##8)     \
	LEVEL(ten##8, ten##9)     \
	LEVEL(ten##9, next_ten##0)

TEN_LEVELS(0, 1)
TEN_LEVELS(1, 2)
TEN_LEVELS(2, 3)
TEN_LEVELS(3, 4)
TEN_LEVELS(4, 5)
TEN_LEVELS(5, 6)
LEVEL(60, 61)
LEVEL(61, 62)
LEVEL(62, 63)
LEVEL(63, 64)
LEVEL(64, 65)

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	while (read_cpu_ns() < end_ns)
		for (int turn = 0; turn < 100; turn++)
			level_00();
	return num_returns == 0;
}
