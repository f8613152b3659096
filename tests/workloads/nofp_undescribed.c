/*
 * A known chain of calls that no call-frame information describes, without frame pointers:
 * nofp_undescribed [SECONDS]. main;outer;roomy;innermost. roomy has an array of a size that is
 * known at run time only, so its frame is found by rbp.
 */
#include <alloca.h>
#include <string.h>

#include "spin.h"

static volatile int num_returns;

static __attribute__((noinline)) void innermost(void)
{
	for (int i = 0; i < 100000; i++)
		__asm__ volatile("" ::"r"(i) : "memory");
	num_returns++;
}

static __attribute__((noinline)) void roomy(size_t size)
{
	char *room = alloca(size);

	__asm__ volatile("" ::"r"(room) : "memory", "rbx", "r12");
	innermost();
	num_returns++;
}

static __attribute__((noinline)) void outer(size_t size)
{
	char room[72];

	__asm__ volatile("" ::"r"(room) : "memory", "rbx", "rbp", "r13");
	roomy(size);
	__asm__ volatile("xor %%ebp, %%ebp" ::"r"(room) : "memory", "rbp", "r13");
	num_returns++;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	while (read_cpu_ns() < end_ns)
		outer(64 + (size_t)argc * 16);
	return num_returns == 0;
}
