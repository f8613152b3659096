/*
 * The changes in a comparison, function by function, as decided by `stackwide diff`: the same test
 * and the same correction for the number of tested functions.
 *
 * Each file of a side counts as one run.
 */
#ifndef VIEWER_CHANGES_H
#define VIEWER_CHANGES_H

#include <stdint.h>

#include "analysis/frame_tree.h"
#include "base/attributes.h"
#include "viewer/graph.h"
#include "viewer/weights.h"

enum change_flag {
	CHANGE_OF_SELF = 1,  /* the share of the function's own weight has changed */
	CHANGE_OF_TOTAL = 2, /* the share of its total has changed */
};

/*
 * Bounds of the 95 % intervals of the changes of share, in percentage points. As the page reads it.
 */
struct function_change {
	uint32_t flags; /* enum change_flag */
	float self_low;
	float self_high;
	float total_low;
	float total_high;
};
_Static_assert(sizeof(struct function_change) == 20, "read by the page (changes.js)");

struct changes_opts {
	const struct weights_opts *weights;
	/* The weight that passes the filters by time, by timestamp of the profile; NULL: all. */
	const uint64_t *timestamps;
	/* Number of samples behind the side's weight of the metric, by source; 0: unknown. */
	const uint64_t *before_samples;
	const uint64_t *after_samples;
};

struct changes {
	struct function_change *items; /* by function of the graph */
	bool is_doubtful; /* the number of samples cannot be known: no change is reported */
};

/*
 * tree  of the graph's profile
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if a sum exceeds 64 bits. Release it in any case.
 */
_must_check_ int changes_init(struct changes *changes, const struct graph *graph,
			      const struct frame_tree *tree, const struct changes_opts *opts);
void changes_release(struct changes *changes);

#endif
