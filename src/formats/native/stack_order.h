/*
 * The order of stacks in our own format (native.h), and the names of their frames: their place
 * among the callees of their caller's frame.
 */
#ifndef FORMATS_NATIVE_STACK_ORDER_H
#define FORMATS_NATIVE_STACK_ORDER_H

#include <stdint.h>

#include "base/attributes.h"
#include "profile/profile.h"

/* The number of callees of a stack goes into one of so many columns; see stack_order_classify(). */
#define NUM_STACK_CLASSES 16

/* Starts of the lists of a stack; they end at the starts of the next stack of the profile. */
struct stack_lists {
	uint32_t first_child;
	uint32_t first_sample;
};

struct stack_order {
	struct stack_lists *lists; /* by stack of the profile, and one more */
	/*
	 * The callees of one stack: rank << 32 | stack, sorted. The rank is the place of its frame
	 * among the callees of the caller's frame.
	 */
	uint64_t *children;
	uint32_t *samples;   /* ids; those of one stack sorted by metric and thread */
	uint32_t num_stacks; /* stacks in it, with the empty one */
	/* Start in callees, by number of a frame, and last for the outermost frames. */
	uint32_t *first_callee;
	uint32_t *callees; /* numbers of frames */
};

/*
 * Stacks without samples, their own or of a callee, are left out.
 *
 * frames      by location: the number of its frame; no two have the same
 * num_frames  numbers are below it
 * ret         the caller releases it; also after an error
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int stack_order_make(const struct profile *profile, const uint32_t *frames,
				  uint32_t num_frames, struct stack_order *ret);
void stack_order_release(struct stack_order *order);

/*
 * Estimates the number of callees of a stack: a stack was passed often if its caller has many
 * callees and it is among the most frequent of them. Stacks with similar estimates are of one class.
 */
static inline uint32_t stack_order_classify(uint32_t rank, uint32_t num_siblings)
{
	int rank_bits = rank ? 32 - __builtin_clz(rank) : 0;
	int sibling_bits = num_siblings ? 32 - __builtin_clz(num_siblings) : 0;
	int class = 10 + rank_bits - 2 * sibling_bits;

	if (class < 0)
		return 0;
	return class < NUM_STACK_CLASSES ? (uint32_t) class : NUM_STACK_CLASSES - 1;
}

#endif
