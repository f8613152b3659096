/* Clearing parts of records in BPF programs, and in code shared by these and tests. */
#ifndef WIRE_CLEAR_H
#define WIRE_CLEAR_H

#include "wire/types.h"

/* A multiple of 8 bytes, aligned. Compilers for BPF refuse a memset() of so many, and so must not take this for one. */
static inline __attribute__((always_inline)) void wire_clear(void *bytes, wire_u32 num_bytes)
{
	typedef wire_u64 __attribute__((may_alias)) word;

	for (wire_u32 i = 0; i < num_bytes / 8; i++) {
		((word *)bytes)[i] = 0;
		__asm__ volatile("" ::: "memory");
	}
}

#endif
