/*
 * Waits for two futexes at a time, until a deadline, by futex_waitv(): nofp_waitv COUNT. Each takes ten milliseconds. Prints
 * how many nanoseconds the thread was off its CPU for it, as its own clocks say; "none" on kernels before 5.16.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define WAIT_NS      (10 * NS_PER_MS)
#define PRIVATE_WORD (2 | 128) /* FUTEX_32 | FUTEX_PRIVATE_FLAG */

/* Linux include/uapi/linux/futex.h: struct futex_waitv. */
struct waiter {
	uint64_t value;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

static uint32_t words[2];

static __attribute__((noinline)) int wait_for_several(void)
{
	struct waiter waiters[] = {
		{.address = (uint64_t)&words[0], .flags = PRIVATE_WORD},
		{.address = (uint64_t)&words[1], .flags = PRIVATE_WORD},
	};
	uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
	struct timespec end = {.tv_sec = (time_t)(end_ns / NS_PER_SECOND),
			       .tv_nsec = (long)(end_ns % NS_PER_SECOND)};
	long result = syscall(SYS_futex_waitv, waiters, 2, 0, &end, CLOCK_MONOTONIC);

	__asm__ volatile("");
	return result < 0 ? errno : 0;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 20;
	uint64_t waited_ns = 0;

	for (int i = 0; i < count; i++) {
		uint64_t cpu_ns = read_cpu_ns();
		uint64_t start_ns = read_clock_ns(CLOCK_MONOTONIC);
		int err = wait_for_several();

		if (err == ENOSYS) {
			puts("none");
			return 0;
		}
		if (err != ETIMEDOUT)
			return 1;
		waited_ns += read_clock_ns(CLOCK_MONOTONIC) - start_ns;
		waited_ns -= read_cpu_ns() - cpu_ns;
	}
	printf("%llu\n", (unsigned long long)waited_ns);
	return 0;
}
