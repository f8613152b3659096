#include "viewer/fragments.h"

#include <errno.h>
#include <stdlib.h>

struct fragment_search {
	const struct graph *graph;
	const uint32_t *levels;
	uint32_t num_levels;
};

bool level_exists(const struct graph *graph, uint32_t level)
{
	if (level & LEVEL_FUNCTION)
		return (level & ~LEVEL_FUNCTION) < graph->num_functions;
	return level < graph->num_symbols;
}

uint32_t level_get_function(const struct graph *graph, uint32_t level)
{
	return level & LEVEL_FUNCTION ? level & ~LEVEL_FUNCTION : graph->symbols[level].function;
}

uint32_t level_get_symbol(const struct graph *graph, uint32_t level)
{
	return level & LEVEL_FUNCTION ? graph->functions[level & ~LEVEL_FUNCTION].symbol : level;
}

static uint32_t get_symbol(const void *context, uint32_t node)
{
	return graph_get_symbol(((const struct fragment_search *)context)->graph, node);
}

/*
 * The search compares symbols, since it needs names that are either equal or different, but a node
 * may equal both a symbol and a function. Functions are compared only after all symbols match.
 */
static bool is_of_functions(const void *context, uint32_t node)
{
	const struct fragment_search *search = context;

	for (uint32_t i = search->num_levels; i-- > 0; node = search->graph->parents[node]) {
		uint32_t level = search->levels[i];

		if (level & LEVEL_FUNCTION &&
		    search->graph->node_functions[node] != level_get_function(search->graph, level))
			return false;
	}
	return true;
}

int graph_find_fragment(const struct graph *graph, const uint32_t *levels, uint32_t num_levels,
			struct occurrences *ret)
{
	struct fragment_search search = {graph, levels, num_levels};
	struct named_tree tree = {
		.num_nodes = graph->num_nodes,
		.parents = graph->parents,
		.get_name = get_symbol,
		.context = &search,
	};
	_cleanup_free_ uint32_t *symbols = calloc((size_t)num_levels + 1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_levels; i++) {
		symbols[i] = level_get_symbol(graph, levels[i]);
		if (levels[i] & LEVEL_FUNCTION)
			tree.confirms = is_of_functions;
	}
	return occurrences_init(ret, &tree, symbols, num_levels);
}
