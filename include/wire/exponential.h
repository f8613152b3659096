/*
 * Distances of a Poisson process, in integers, computable in a BPF program.
 *
 * Included by both sides, like wire/wire.h.
 */
#ifndef WIRE_EXPONENTIAL_H
#define WIRE_EXPONENTIAL_H

#include "wire/wire.h"

/* Fraction bits of a logarithm. */
#define WIRE_LOGARITHM_BITS 20
/* The natural logarithm of 2, with 32 fraction bits. */
#define WIRE_LN_2 2977044472ull
/* A larger mean, times the largest logarithm, does not fit into 64 bits. */
#define WIRE_MAX_MEAN_DISTANCE (1ull << 56)

/*
 * A distance with the given mean, up to WIRE_MAX_MEAN_DISTANCE, as -ln(u) * mean, rounded to the
 * nearest integer: it may be 0, so that the mean is exact. u is (random + 1) / 2^32, for any 32
 * random bits.
 *
 * The logarithm to the base 2 bit by bit: a number from 1 to 2 is squared; if the square is 2 or
 * more, the next bit is set.
 */
static inline wire_u64 wire_exponential_distance(wire_u32 random, wire_u64 mean)
{
	const wire_u64 one = 1ull << WIRE_LOGARITHM_BITS;
	wire_u64 number = (wire_u64)random + 1; /* normalized to 2^31 (which is 1) up to 2^32 */
	wire_u64 fraction = 0;
	wire_u64 halvings = 1;
	wire_u64 logarithm;

	if (number >> 32)
		return 0;
	for (wire_u32 bits = 16; bits; bits /= 2) {
		if (number >> (32 - bits))
			continue;
		number <<= bits;
		halvings += bits;
	}
	for (wire_u32 i = 0; i < WIRE_LOGARITHM_BITS; i++) {
		wire_u64 square = number * number >> 31;
		wire_u64 bit = square >> 32 & 1;

		number = square >> bit;
		fraction = fraction << 1 | bit;
	}
	logarithm = ((halvings << WIRE_LOGARITHM_BITS) - fraction) * WIRE_LN_2 >> 32;
	return (mean >> WIRE_LOGARITHM_BITS) * logarithm +
	       (((mean & (one - 1)) * logarithm + one / 2) >> WIRE_LOGARITHM_BITS);
}

#endif
