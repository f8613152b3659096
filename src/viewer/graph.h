/*
 * The graph: a profile prepared for queries that must be answered between two frames of a screen.
 * It has one node per distinct path of functions and their marks (inlined, of a JIT), in plain
 * arrays, so that every query is a pass over them.
 *
 * Two kinds of identity: a function is a name in a module, in the kernel or not (the row of a flat
 * table). A symbol is a name, in any module; fragments consist of symbols, and flame views merge by
 * them. The first level of a stack may be its thread; it is a symbol of its own kind and no
 * function.
 *
 * Pure, no I/O; not thread-safe. A graph borrows its profile, and is remade when that changes.
 */
#ifndef VIEWER_GRAPH_H
#define VIEWER_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/frame_tree.h"
#include "analysis/thread_label.h"
#include "base/attributes.h"
#include "profile/profile.h"

#define GRAPH_ROOT  0u
#define SYMBOL_NONE UINT32_MAX

/*
 * Bits of graph->flags. The low four are the frame's enum frame_kind. names.js of the page has the
 * same values.
 */
enum node_flag {
	NODE_KIND_MASK = 15,
	NODE_INLINED = 16,
	NODE_THREAD = 32,          /* represents the thread of the stacks above it */
	NODE_REPEATS = 64,         /* its function is already on the path to it */
	NODE_REPEATS_MODULE = 128, /* its module is */
};
_Static_assert(NUM_FRAME_KINDS <= NODE_KIND_MASK + 1, "a kind has four bits");

struct graph_function {
	uint32_t name;   /* string of the profile */
	uint32_t module; /* string of the profile; may be empty */
	uint32_t symbol;
	uint8_t kind; /* of the first frame seen: enum frame_kind */
	bool is_inlined;
	bool is_thread; /* no function: the first level of a thread's stacks */
};

struct graph_symbol {
	uint32_t name;     /* string of the profile */
	uint32_t function; /* the first function of that name */
	bool is_thread;
};

struct graph {
	struct profile *profile; /* borrowed */
	struct graph_function *functions;
	uint32_t num_functions;
	struct graph_symbol *symbols;
	uint32_t num_symbols;
	uint32_t *name_rank; /* by symbol: its rank in bytewise order of names */

	/* Arrays by node; 0 is the root. A parent's number is smaller than its children's. */
	uint32_t num_nodes;
	uint32_t *parents;
	uint32_t *node_functions; /* for the root: 0, without meaning */
	uint32_t *node_symbols;   /* their symbols, which most passes over the nodes need */
	uint8_t *flags;
	uint32_t *first_child; /* [n] to [n + 1] in children; num_nodes + 1 of them */
	uint32_t *children;

	uint32_t *sample_nodes; /* by sample of the profile */
};

/*
 * root  level of a thread. Labels of threads are added to the profile's strings.
 *
 * Returns NULL when out of memory.
 */
struct graph *graph_new(struct profile *profile, enum tree_root root);
void graph_free(struct graph *graph);
static inline void graph_freep(struct graph **graph)
{
	graph_free(*graph);
}

static inline uint32_t graph_get_symbol(const struct graph *graph, uint32_t node)
{
	return graph->node_symbols[node];
}

static inline const char *graph_get_symbol_name(const struct graph *graph, uint32_t symbol)
{
	return profile_get_string(graph->profile, graph->symbols[symbol].name);
}

/* The mark that folded text appends to a function's name, by flags of a node. */
static inline uint8_t node_flags_get_mark(uint8_t flags)
{
	return frame_kind_get_mark(flags & NODE_KIND_MASK, flags & NODE_INLINED);
}

/* The node's mark as a set, a bit for each; empty for a thread, which is no function. */
static inline uint8_t graph_get_marks(const struct graph *graph, uint32_t node)
{
	uint8_t flags = graph->flags[node];

	return flags & NODE_THREAD ? 0 : (uint8_t)(1u << node_flags_get_mark(flags));
}

/* The symbol of this name, or SYMBOL_NONE. */
uint32_t graph_find_symbol(const struct graph *graph, const char *name, size_t length,
			   bool is_thread);

#endif
