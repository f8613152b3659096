#include "viewer/fragments.h"

static bool ends_here(const struct graph *graph, const struct fragment_level *levels,
		      size_t num_levels, uint32_t node)
{
	for (size_t i = num_levels; i-- > 0; node = graph->parents[node]) {
		uint32_t symbol;

		if (node == GRAPH_ROOT)
			return false;
		symbol = graph_get_symbol(graph, node);
		if (symbol != levels[i].symbol && symbol != levels[i].other_symbol)
			return false;
	}
	return true;
}

void fragment_mark(const struct graph *graph, const struct fragment_level *levels,
		   size_t num_levels, uint8_t *marks)
{
	marks[GRAPH_ROOT] = 0;
	for (uint32_t i = 1; i < graph->num_nodes; i++)
		marks[i] = ends_here(graph, levels, num_levels, i);
}
