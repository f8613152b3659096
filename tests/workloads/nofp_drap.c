/*
 * Functions that align their stack to 64 bytes and have room of unknown size on it: the compiler
 * then finds the caller's frame by way of a pointer that it keeps in the frame, not by an offset
 * (gcc's dynamic realign argument pointer): nofp_drap [SECONDS].
 */
#include <alloca.h>

#include "spin.h"

static volatile int num_returns;

static __attribute__((noinline)) void aligned_inner(size_t size_bytes)
{
	__attribute__((aligned(64))) char line[64];
	char *room = alloca(size_bytes);

	for (int i = 0; i < 1000; i++)
		__asm__ volatile("" ::"r"(line), "r"(room) : "memory");
	num_returns++;
}

#define ALIGNED(name, next)                                             \
	static __attribute__((noinline)) void name(size_t size_bytes)   \
	{                                                               \
		__attribute__((aligned(64))) char line[64];             \
		char *room = alloca(size_bytes);                        \
                                                                        \
		__asm__ volatile("" ::"r"(line), "r"(room) : "memory"); \
		next(size_bytes + 8);                                   \
		__asm__ volatile("" ::"r"(line), "r"(room) : "memory"); \
		num_returns++;                                          \
	}

ALIGNED(aligned_middle, aligned_inner)
ALIGNED(aligned_outer, aligned_middle)

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	while (read_cpu_ns() < end_ns)
		for (size_t turn = 0; turn < 256; turn++)
			aligned_outer(turn);
	return num_returns == 0;
}
