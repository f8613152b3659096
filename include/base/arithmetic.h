/*
 * Sums and products that end at UINT64_MAX, where they would not fit.
 */
#ifndef BASE_ARITHMETIC_H
#define BASE_ARITHMETIC_H

#include <stdint.h>

static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* To scale others by. The denominator is above 0. */
struct ratio {
	uint64_t numerator;
	uint64_t denominator;
};

/* The value times the ratio, rounded down; UINT64_MAX where it does not fit into 64 bits. */
static inline uint64_t ratio_scale(const struct ratio *ratio, uint64_t value)
{
	unsigned __int128 scaled = (unsigned __int128)value * ratio->numerator / ratio->denominator;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/*
 * The next of several values that are scaled one by one: what rounding takes from one, one after it gets, so that the
 * sum is scaled, and not rounded more than once.
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
