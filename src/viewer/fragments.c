#include "viewer/fragments.h"

static uint32_t get_symbol(const void *context, uint32_t node)
{
	return graph_get_symbol(context, node);
}

int graph_find_fragment(const struct graph *graph, const uint32_t *symbols, uint32_t length,
			struct occurrences *ret)
{
	struct named_tree tree = {
		.num_nodes = graph->num_nodes,
		.parents = graph->parents,
		.get_name = get_symbol,
		.context = graph,
	};

	return occurrences_init(ret, &tree, symbols, length);
}
