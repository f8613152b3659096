/*
 * Where a fragment, a stretch of frames that call each other, occurs in the stacks of a graph.
 */
#ifndef VIEWER_FRAGMENTS_H
#define VIEWER_FRAGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "viewer/graph.h"

/* A level of a fragment. Filters match names of functions and of threads alike. */
struct fragment_level {
	uint32_t symbol;
	uint32_t other_symbol; /* one that is as good; or SYMBOL_NONE */
};

/* Set marks[node] to 1 where an occurrence of the fragment ends, else to 0. */
void fragment_mark(const struct graph *graph, const struct fragment_level *levels,
		   size_t num_levels, uint8_t *marks);

#endif
