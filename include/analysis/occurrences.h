/*
 * Occurrences of a sequence of names, each called by the previous one, on the paths of a tree.
 *
 * It may occur several times on a path, and occurrences may overlap: a -> b -> a occurs twice in
 * a;b;a;b;a. All queries count a path once, by the *first* occurrence or by the *last*. Both are
 * reported here by the nodes at their ends, so that the report and the viewer follow one rule.
 *
 * Pure: no I/O.
 */
#ifndef ANALYSIS_OCCURRENCES_H
#define ANALYSIS_OCCURRENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Node 0 is the root, which has no name. A parent's number is smaller than its children's. */
struct named_tree {
	uint32_t num_nodes;
	const uint32_t *parents; /* by node */
	uint32_t (*get_name)(const void *context, uint32_t node);
	/* Called if the names match: whether an occurrence ends here. NULL: always. */
	bool (*confirms)(const void *context, uint32_t node);
	const void *context;
};

struct occurrences {
	/*
	 * The end of the first occurrence on the path to each node; 0, the root, without one. So
	 * first_ends[node] == node holds at the end of a first occurrence.
	 */
	uint32_t *first_ends;
	bool *is_end; /* by node: whether an occurrence ends at it */
};

/*
 * names  outermost first; with num_names 0 there are no occurrences
 *
 * Returns 0 or -ENOMEM; the occurrences may be released in any case.
 */
_must_check_ int occurrences_init(struct occurrences *occurrences, const struct named_tree *tree,
				  const uint32_t *names, size_t num_names);
void occurrences_release(struct occurrences *occurrences);

/* The end of the last occurrence on the path to `node`; 0: none. */
static inline uint32_t occurrences_find_last(const struct occurrences *occurrences,
					     const uint32_t *parents, uint32_t node)
{
	while (node && !occurrences->is_end[node])
		node = parents[node];
	return node;
}

/* The caller of an occurrence of this many names that ends at `end`; 0: none. */
static inline uint32_t occurrence_get_caller(const uint32_t *parents, uint32_t end,
					     size_t num_names)
{
	for (size_t i = 0; i < num_names; i++)
		end = parents[end];
	return end;
}

/*
 * Turn nodes' own weights into weights of subtrees. With is_end, a subtree ends at the next
 * occurrence in it: the last occurrence of a path gets the weight.
 *
 * is_end  by node; NULL: whole subtrees
 */
void occurrences_add_up(const bool *is_end, const uint32_t *parents, uint32_t num_nodes,
			uint64_t *weights);

#endif
