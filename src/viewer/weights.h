/*
 * The current selection: the samples of one metric that pass all filters, as weights on the nodes
 * of a graph; in a comparison, a baseline beside them.
 *
 * Pure, no I/O; not thread-safe.
 */
#ifndef VIEWER_WEIGHTS_H
#define VIEWER_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "base/attributes.h"
#include "viewer/graph.h"

/* The role of a source's samples. */
enum source_side { SIDE_OFF, SIDE_SHOWN, SIDE_BASELINE };

struct weights_opts {
	uint32_t metric;
	uint32_t baseline_metric; /* of a comparison within the sources; else METRIC_NONE */
	const uint8_t *sides;     /* by source: enum source_side */
	const struct selection *selection; /* samples that pass the filters; NULL: all */
	const uint64_t *values; /* by sample: the part that passes the filters by time; NULL: all */
};

struct weights {
	/* Weight by node: of stacks that end there, and including its callees. */
	uint64_t *self;
	uint64_t *total;
	uint64_t sum;
	/* The same of the baseline; NULL when nothing is compared. */
	uint64_t *baseline_self;
	uint64_t *baseline_total;
	uint64_t baseline_sum;
};

/* Returns 0, -ENOMEM, or -EOVERFLOW when a sum leaves 64 bits. */
_must_check_ int weights_init(struct weights *weights, const struct graph *graph,
			      const struct weights_opts *opts);
void weights_release(struct weights *weights);

/* The weight of a sample that counts. */
static inline uint64_t weights_get_value(const struct graph *graph, const struct weights_opts *opts,
					 uint32_t sample)
{
	return opts->values ? opts->values[sample]
			    : profile_get_sample(graph->profile, sample)->value;
}

/*
 * Whether a sample counts, and where: SIDE_OFF when it does not pass.
 */
enum source_side weights_classify(const struct graph *graph, const struct weights_opts *opts,
				  uint32_t sample);

#endif
