/*
 * Where a fragment, a stretch of frames that call each other, occurs in the stacks of a graph.
 */
#ifndef VIEWER_FRAGMENTS_H
#define VIEWER_FRAGMENTS_H

#include <stdint.h>

#include "analysis/occurrences.h"
#include "base/attributes.h"
#include "viewer/graph.h"

/*
 * symbols  the fragment, outermost first; of length 0 it occurs nowhere
 * ret      by node of the graph; zero before, and the caller releases it in any case
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int graph_find_fragment(const struct graph *graph, const uint32_t *symbols,
				     uint32_t length, struct occurrences *ret);

#endif
