/*
 * Weights below 0, as differences of two profiles and some profiles of memory have them. They are
 * kept apart while a file is read. At its end they are subtracted from the samples of the same
 * thread, stack and metric, then from those of stacks with the same names: two runs have other
 * addresses and lines. A sum that stays below 0 cannot be shown, and is left out with a warning.
 */
#ifndef FORMATS_SIGNED_SUMS_H
#define FORMATS_SIGNED_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/intern.h"
#include "formats/import.h"

struct negative_sum {
	uint32_t thread;
	uint32_t stack;
	uint32_t metric;
	uint64_t amount; /* below 0, without sign */
};
INTERN_TABLE(negative_sums, struct negative_sum, thread, stack, metric);

/* Zeroed at first. */
struct signed_sums {
	struct negative_sums sums;
	bool is_comparison; /* set by the reader if the file is known to be one */
};

void signed_sums_release(struct signed_sums *sums);

/*
 * Instead of profile_add_sample(): subtract from the sample. Returns 0, -ENOMEM, or -EOVERFLOW if the
 * amounts of the sample exceed 64 bits.
 */
_must_check_ int signed_sums_subtract(struct signed_sums *sums, uint32_t thread, uint32_t stack,
				      uint32_t metric, uint64_t amount);

/*
 * As reader_add_sample(), for a weight that may be negative.
 *
 * sample  amount: without sign
 */
_must_check_ int signed_sums_add(struct signed_sums *sums, struct import *import, uint64_t offset,
				 const struct negative_sum *sample, bool is_negative);

/* Multiply the negative sums, as profile_multiply_samples() does. Returns 0 or -EOVERFLOW. */
_must_check_ int signed_sums_multiply(struct signed_sums *sums, uint64_t factor);

/*
 * When all samples of the input have been added: subtract, warn about sums that stay below 0, and
 * if the input looks like a comparison. Samples may change their ids.
 *
 * Returns 0, -ENOMEM, or -EBADMSG with the import's error if nothing above 0 is left.
 */
_must_check_ int signed_sums_apply(struct signed_sums *sums, struct import *import);

#endif
