/*
 * Weights by function, by module and by thread.
 */
#ifndef VIEWER_TABLES_H
#define VIEWER_TABLES_H

#include <stdint.h>

#include "base/attributes.h"
#include "viewer/graph.h"
#include "viewer/weights.h"

/* A row for the page: 10 little-endian 32-bit words. */
struct table_row {
	uint32_t id; /* of the function; of the module, a string of the profile; of the thread */
	uint32_t unused;
	uint64_t self;
	uint64_t total; /* a stack counts once, even if it passes several times */
	uint64_t baseline_self;
	uint64_t baseline_total;
};

_Static_assert(sizeof(struct table_row) == 40, "the page reads it as 10 words");

/*
 * Rows with weight, in order of ids. Threads have no self weight.
 *
 * ret  the caller frees it
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int table_of_functions(const struct graph *graph, const struct weights *weights,
				    struct table_row **ret, size_t *ret_count);
_must_check_ int table_of_modules(const struct graph *graph, const struct weights *weights,
				  struct table_row **ret, size_t *ret_count);
_must_check_ int table_of_threads(const struct graph *graph, const struct weights_opts *opts,
				  struct table_row **ret, size_t *ret_count);

#endif
