/* Clearing parts of records in BPF programs, and in code shared by these and tests. */
#ifndef WIRE_CLEAR_H
#define WIRE_CLEAR_H

#include "wire/types.h"

/*
 * Clear a multiple of 8 bytes, aligned. Compilers for BPF reject a memset() of that size, so they
 * must not recognize this as one. A program that can do it in one call defines WIRE_CLEAR() as that.
 */
#ifndef WIRE_CLEAR
#define WIRE_CLEAR wire_clear
#endif
static inline __attribute__((always_inline)) void wire_clear(void *bytes, wire_u32 num_bytes)
{
	typedef wire_u64 __attribute__((may_alias)) word;

	for (wire_u32 i = 0; i < num_bytes / 8; i++) {
		((word *)bytes)[i] = 0;
		__asm__ volatile("" ::: "memory");
	}
}

#endif
