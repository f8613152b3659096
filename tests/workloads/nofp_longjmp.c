/* Jumps out of ten calls, again and again: nofp_longjmp [SECONDS]. */
#include <setjmp.h>

#include "spin.h"

static jmp_buf target;
static volatile int num_jumps;

static __attribute__((noinline)) void go_down(int level)
{
	if (level == 9) {
		for (int i = 0; i < 500; i++)
			__asm__ volatile("" ::"r"(i) : "memory");
		longjmp(target, 1);
	}
	go_down(level + 1);
	num_jumps--;
}

static __attribute__((noinline)) void jump_once(void)
{
	if (!setjmp(target))
		go_down(0);
	num_jumps++;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	while (read_cpu_ns() < end_ns)
		for (int turn = 0; turn < 100; turn++)
			jump_once();
	return num_jumps == 0;
}
