/*
 * Bounds of stacks that are known by their tops alone: fibers. A stack with a mapping of its own is
 * as large as the mapping. Stacks that share a mapping are as large as their distance, if they are
 * evenly spaced or fill the mapping. For other stacks only the used part is known.
 */
#ifndef COLLECT_TRACE_STACK_BOUNDS_H
#define COLLECT_TRACE_STACK_BOUNDS_H

#include <stddef.h>

#include "base/attributes.h"
#include "collect/trace/stack_tops.h"
#include "collect/trace/trace_log.h"

struct stack_bounds;

/*
 * areas  the mappings are those of kind STACK_OTHER and STACK_THREAD
 * tops   samples are assigned
 *
 * Both are borrowed for the call. NULL when out of memory.
 */
struct stack_bounds *stack_bounds_new(const struct stack_area *areas, size_t num_areas,
				      const struct stack_tops *tops);
void stack_bounds_free(struct stack_bounds *bounds);
static inline void stack_bounds_freep(struct stack_bounds **bounds)
{
	stack_bounds_free(*bounds);
}

/* The area of a top, by its place in the tops; of kind STACK_OTHER. */
struct stack_area stack_bounds_get(const struct stack_bounds *bounds, size_t top);

#endif
