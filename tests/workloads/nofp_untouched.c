/*
 * Spins with a stack pointer in a page that was never touched, one below those that were: the frame
 * is large, and nothing of it is used. About a second, on any machine.
 */
#include <string.h>
#include <time.h>

#define TOUCHED_BYTES (16 << 10) /* more than start-up code does */

static __attribute__((noinline)) void touch(void)
{
	char frame[TOUCHED_BYTES];

	memset(frame, 1, sizeof(frame));
	__asm__ volatile("" : : "r"(frame) : "memory");
}

static __attribute__((noinline)) void spin_untouched(void)
{
	char frame[TOUCHED_BYTES + 8192];

	/* Nothing is called, so that nothing is pushed. */
	__asm__ volatile("1: dec %0; jnz 1b" : : "r"(100000000l), "r"(frame) : "memory");
}

int main(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC;

	touch();
	while (clock() < end)
		spin_untouched();
	return 0;
}
