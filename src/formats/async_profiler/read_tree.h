/*
 * The lines of the call trees that async-profiler writes as HTML.
 */
#ifndef FORMATS_ASYNC_PROFILER_READ_TREE_H
#define FORMATS_ASYNC_PROFILER_READ_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/slice.h"

/* A frame of the tree. */
struct async_profiler_tree_frame {
	uint64_t total;
	uint64_t self;
	bool has_self;     /* false in a tree that starts with the innermost frames */
	uint8_t type;      /* the number of its color in the page, as in flame graphs */
	struct slice name; /* with its references, undecoded */
};

/* False when the line holds no frame. */
bool async_profiler_tree_parse_frame(struct slice line, struct async_profiler_tree_frame *ret);

/*
 * The line above the tree, "Call tree view, total samples: 1,180".
 *
 * ret_units  "samples", or "counter" for any other unit
 */
bool async_profiler_tree_parse_total(struct slice line, struct slice *ret_units,
				     uint64_t *ret_total);

#endif
