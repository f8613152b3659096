/*
 * The greatest common divisor. Pure.
 */
#ifndef BASE_DIVISOR_H
#define BASE_DIVISOR_H

#include <stdint.h>

/* Of 0 and a number: the number. */
static inline uint64_t find_common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
