/*
 * The wakers of waits in the current view: the answers of analysis/wakers.h for the view's filters
 * and fragment, with the names of frames as symbols of the graph.
 *
 * Pure, no I/O; not thread-safe.
 */
#ifndef VIEWER_WAITS_H
#define VIEWER_WAITS_H

#include <stdint.h>

#include "analysis/fragment.h"
#include "analysis/occurrences.h"
#include "analysis/wakers.h"
#include "base/attributes.h"
#include "viewer/graph.h"
#include "viewer/weights.h"

struct waits_opts {
	uint32_t metric;               /* METRIC_OFFWAKE: there may be several, in other units */
	const struct graph *graph;     /* borrowed until waits_release(), as the tree is */
	const struct frame_tree *tree; /* of the same profile */
	const struct weights_opts *weights; /* whose filters and sides count, not the metric */
	const uint32_t *levels;             /* of the fragment; none: all waits */
	uint32_t num_levels;
	const struct occurrences *occurrences; /* of the fragment in the graph */
};

struct waits {
	const struct graph *graph;
	const struct frame_tree *tree;
	uint32_t metric;
	/* The query; its values are those of the weights. */
	struct fragment fragment;
	struct selection selection;
	struct selection in_fragment;

	uint64_t sum; /* of the waits that pass the filters, in the fragment or not */
	struct wakers_answer answer;
	struct waker_chain chain;
	struct fragment_tree *stacks; /* by thread of the answer; without nodes: not yet asked
					 for */
	uint32_t *symbols;            /* by name of the tree; SYMBOL_NONE: not a function */
};

/*
 * Values of the weights are borrowed until waits_release(), too.
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the sum of the weights exceeds 64 bits. May be released in
 * any case.
 */
_must_check_ int waits_init(struct waits *waits, const struct waits_opts *opts);
void waits_release(struct waits *waits);

uint32_t waits_get_symbol(const struct waits *waits, uint32_t frame);

/*
 * Stacks of the wakers of one name, from the inside out; borrowed.
 *
 * thread  of the answer
 *
 * Returns 0, -ENOMEM or -EOVERFLOW.
 */
_must_check_ int waits_get_stacks(struct waits *waits, uint32_t thread,
				  const struct fragment_tree **ret);

#endif
