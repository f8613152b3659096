#ifndef INLINED_CALLS_H
#define INLINED_CALLS_H

#include <stdint.h>

extern volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t mix_in_header(uint64_t x)
{
	sink += x >> 7;
	return x ^ (sink << 3);
}

#endif
