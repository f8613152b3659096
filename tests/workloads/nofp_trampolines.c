/*
 * Calls through trampolines such as CPython's (-X perf), in memory that no file backs.
 *
 * usage: nofp_trampolines SECONDS [DISTANCE]
 *
 * DISTANCE  of two trampolines, in bytes: 11 as CPython 3.12 has them, 16 as later ones
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

#define AREA_BYTES (64u << 10)
#define DEPTH      4

static const unsigned char trampoline[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
					   0x48, 0x83, 0xc4, 0x08, 0xc3};

/* What the trampoline calls is its fourth argument. */
typedef long (*evaluator)(long level, uint64_t wanted_ns, long distance, void *function);

static unsigned char *area;

__attribute__((noinline)) static long evaluate(long level, uint64_t wanted_ns, long distance,
					       void *function)
{
	evaluator next;

	if (level == DEPTH) {
		(void)spin_cpu_ns(wanted_ns);
		return 0;
	}
	memcpy(&next, &(unsigned char *){area + level * distance}, sizeof(next));
	return next(level + 1, wanted_ns, distance, function) + 1;
}

int main(int argc, char **argv)
{
	long distance = argc > 2 ? atol(argv[2]) : 11;

	area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || distance < (long)sizeof(trampoline))
		return 1;
	for (long i = 0; i < DEPTH; i++)
		memcpy(area + i * distance, trampoline, sizeof(trampoline));
	if (mprotect(area, AREA_BYTES, PROT_READ | PROT_EXEC))
		return 1;
	usleep(300000); /* until the recorder has heard of it */
	return evaluate(0, read_duration_ns(argc, argv, 1, 1), distance, (void *)evaluate) != DEPTH;
}
