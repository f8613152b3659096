/* A known chain of 66 calls, level_0 to level_65, below main: deep [SECONDS]. */
#include "spin.h"

static uint64_t duration_ns;
static volatile int num_returns;

static __attribute__((noinline)) void level_65(void)
{
	spin_cpu_ns(duration_ns);
	num_returns++;
}

/* Something is left to do after the call, so it cannot become a jump. */
#define LEVEL(number, next)                                        \
	static __attribute__((noinline)) void level_##number(void) \
	{                                                          \
		level_##next();                                    \
		num_returns++;                                     \
	}

LEVEL(64, 65)
LEVEL(63, 64)
LEVEL(62, 63)
LEVEL(61, 62)
LEVEL(60, 61)
LEVEL(59, 60)
LEVEL(58, 59)
LEVEL(57, 58)
LEVEL(56, 57)
LEVEL(55, 56)
LEVEL(54, 55)
LEVEL(53, 54)
LEVEL(52, 53)
LEVEL(51, 52)
LEVEL(50, 51)
LEVEL(49, 50)
LEVEL(48, 49)
LEVEL(47, 48)
LEVEL(46, 47)
LEVEL(45, 46)
LEVEL(44, 45)
LEVEL(43, 44)
LEVEL(42, 43)
LEVEL(41, 42)
LEVEL(40, 41)
LEVEL(39, 40)
LEVEL(38, 39)
LEVEL(37, 38)
LEVEL(36, 37)
LEVEL(35, 36)
LEVEL(34, 35)
LEVEL(33, 34)
LEVEL(32, 33)
LEVEL(31, 32)
LEVEL(30, 31)
LEVEL(29, 30)
LEVEL(28, 29)
LEVEL(27, 28)
LEVEL(26, 27)
LEVEL(25, 26)
LEVEL(24, 25)
LEVEL(23, 24)
LEVEL(22, 23)
LEVEL(21, 22)
LEVEL(20, 21)
LEVEL(19, 20)
LEVEL(18, 19)
LEVEL(17, 18)
LEVEL(16, 17)
LEVEL(15, 16)
LEVEL(14, 15)
LEVEL(13, 14)
LEVEL(12, 13)
LEVEL(11, 12)
LEVEL(10, 11)
LEVEL(9, 10)
LEVEL(8, 9)
LEVEL(7, 8)
LEVEL(6, 7)
LEVEL(5, 6)
LEVEL(4, 5)
LEVEL(3, 4)
LEVEL(2, 3)
LEVEL(1, 2)
LEVEL(0, 1)

int main(int argc, char **argv)
{
	duration_ns = read_duration_ns(argc, argv, 1, 1);
	level_0();
	return num_returns != 66;
}
