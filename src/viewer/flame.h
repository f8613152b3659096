/*
 * The flame: all callees of a fragment, or all its callers, merged into one tree. Only the part
 * that is wide enough to be seen is ever made.
 *
 * In a stack, a fragment may occur several times and may overlap itself. Its callees are those of
 * the last occurrence, its callers those of the first; a stack counts once. So for every fragment
 * inclusive = sum over callers = sum over callees + exclusive.
 *
 * Pure, no I/O; not thread-safe. A flame borrows its graph and weights.
 */
#ifndef VIEWER_FLAME_H
#define VIEWER_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "viewer/graph.h"
#include "viewer/weights.h"

#define FLAME_NONE UINT32_MAX

enum flame_direction { FLAME_CALLEES, FLAME_CALLERS };
enum flame_order { FLAME_BY_WEIGHT, FLAME_BY_NAME };

struct flame_opts {
	const uint32_t *fragment; /* levels (fragments.h), outermost first; copied */
	uint32_t fragment_length; /* 0: all stacks */
	/* Those of the fragment, if any; borrowed until flame_free(). */
	const struct occurrences *occurrences;
	enum flame_direction direction;
	enum flame_order order;
};

/*
 * Nodes are numbered in the order they are made. 0 is the base: with a fragment its first row in
 * drawing order (f1 for callees, fk for callers), else all stacks, which have no symbol. Every
 * level of the fragment is a row with one node.
 */
struct flame_node {
	uint32_t parent;   /* FLAME_NONE: the base */
	uint32_t symbol;   /* SYMBOL_NONE: all stacks */
	uint32_t function; /* the first of those that were merged */
	uint32_t depth;    /* row; the base's is 0 */
	double start;      /* left edge and width; for the unit see flame_get_width() */
	double width;
	uint64_t total;
	uint64_t self; /* callees: stacks that end here; callers: stacks that start here */
	uint64_t baseline_total;
	uint64_t baseline_self;
	uint32_t first_entry; /* nodes of the graph that were merged here */
	uint32_t num_entries;
	uint32_t first_child;
	uint32_t num_children;
	uint8_t flags; /* enum node_flag of the first of those that were merged */
	bool is_base;  /* a level of the fragment, or the node of all stacks */
	bool is_expanded;
};

struct flame;

/* Returns NULL when out of memory. */
struct flame *flame_new(const struct graph *graph, const struct weights *weights,
			const struct flame_opts *opts);
void flame_free(struct flame *flame);
static inline void flame_freep(struct flame **flame)
{
	flame_free(*flame);
}

/* Borrowed until the next call that may expand a node. */
const struct flame_node *flame_get_node(const struct flame *flame, uint32_t node);
/* Make the children of a node, heaviest first or by name. Returns 0 or -ENOMEM. */
_must_check_ int flame_expand(struct flame *flame, uint32_t node);
/* The node of the last row of the fragment (or of all stacks): its children are the answer. */
uint32_t flame_get_top(const struct flame *flame);
/* The whole width: the sum; in a comparison 1, half for each side's share. */
double flame_get_width(const struct flame *flame);

/*
 * Weight of the stacks with a drawn frame that matches; each stack counts once. Threads do not
 * match, as they are no functions.
 *
 * marks  by symbol: a set of marks, a bit for each; its frames with one of these match
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int flame_measure_matches(const struct flame *flame, const uint8_t *marks,
				       uint64_t *ret_weight);

#endif
