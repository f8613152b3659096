/*
 * The occurrences of a fragment, a sequence of frames that call each other, in the stacks of a
 * graph.
 */
#ifndef VIEWER_FRAGMENTS_H
#define VIEWER_FRAGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/occurrences.h"
#include "base/attributes.h"
#include "viewer/graph.h"

/*
 * A level of a fragment is a symbol, for all functions with that name. With this bit it is a
 * function, that of one module. All numbers of either are below the bit.
 */
#define LEVEL_FUNCTION 0x80000000u

/*
 * Whether the level exists in the graph: levels are sent by the page, and may be of another graph.
 */
bool level_exists(const struct graph *graph, uint32_t level);
uint32_t level_get_symbol(const struct graph *graph, uint32_t level);
/* The function of a level; for a symbol, its first one. */
uint32_t level_get_function(const struct graph *graph, uint32_t level);

/*
 * levels  of the fragment, outermost first; an empty fragment has no occurrences
 * ret     by node of the graph; zero before, and the caller releases it in any case
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int graph_find_fragment(const struct graph *graph, const uint32_t *levels,
				     uint32_t num_levels, struct occurrences *ret);

#endif
