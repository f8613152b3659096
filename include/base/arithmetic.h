/* Sums and products that saturate at UINT64_MAX. */
#ifndef BASE_ARITHMETIC_H
#define BASE_ARITHMETIC_H

#include <stdint.h>

static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* A factor for scaling. The denominator is above 0. */
struct ratio {
	uint64_t numerator;
	uint64_t denominator;
};

/* The value times the ratio, rounded down; UINT64_MAX if it does not fit into 64 bits. */
static inline uint64_t ratio_scale(const struct ratio *ratio, uint64_t value)
{
	unsigned __int128 scaled = (unsigned __int128)value * ratio->numerator / ratio->denominator;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/*
 * The next of several values that are scaled one by one. The rounding error of one value is carried
 * to the next, so that the sum is the scaled sum, rounded only once.
 *
 * sum  of the values before; this one is added
 */
static inline uint64_t ratio_scale_next(const struct ratio *ratio, uint64_t *sum, uint64_t value)
{
	uint64_t before = ratio_scale(ratio, *sum);

	*sum += value;
	return ratio_scale(ratio, *sum) - before;
}

/*
 * The greatest common divisor. Pure.
 */

/* The greatest common divisor; of 0 and a number: the number. */
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
