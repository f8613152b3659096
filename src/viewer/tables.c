/*
 * A node's total has the weight of all stacks through it. Added up over the nodes of a function, a
 * recursive call would count these stacks again. The graph marks such a node with NODE_REPEATS. It
 * adds nothing, as its weight is already in the total of the function's node nearer to the root.
 * The same holds for modules.
 */
#include "viewer/tables.h"

#include <errno.h>

/* Drop the rows without weight; the others keep their order. */
static size_t squeeze(struct table_row *rows, size_t count)
{
	size_t num_kept = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].total || rows[i].baseline_total)
			rows[num_kept++] = rows[i];
	return num_kept;
}

/* The row's number is its id, until squeeze() moves it. */
static struct table_row *make_rows(size_t count)
{
	struct table_row *rows = calloc(count + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < count; i++)
		rows[i].id = (uint32_t)i;
	return rows;
}

static void count_node(const struct weights *weights, uint32_t node, bool is_repeated,
		       struct table_row *row)
{
	row->self += weights->self[node];
	if (!is_repeated)
		row->total += weights->total[node];
	if (!weights->baseline_self)
		return;
	row->baseline_self += weights->baseline_self[node];
	if (!is_repeated)
		row->baseline_total += weights->baseline_total[node];
}

int table_of_functions(const struct graph *graph, const struct weights *weights,
		       struct table_row **ret, size_t *ret_count)
{
	struct table_row *rows = make_rows(graph->num_functions);

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 1; i < graph->num_nodes; i++)
		if (!(graph->flags[i] & NODE_THREAD))
			count_node(weights, i, graph->flags[i] & NODE_REPEATS,
				   &rows[graph->node_functions[i]]);
	*ret = rows;
	*ret_count = squeeze(rows, graph->num_functions);
	return 0;
}

int table_of_modules(const struct graph *graph, const struct weights *weights,
		     struct table_row **ret, size_t *ret_count)
{
	uint32_t count = string_table_get_count(profile_get_strings(graph->profile));
	struct table_row *rows = make_rows(count);

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 1; i < graph->num_nodes; i++) {
		uint32_t module = graph->functions[graph->node_functions[i]].module;

		if (!(graph->flags[i] & NODE_THREAD))
			count_node(weights, i, graph->flags[i] & NODE_REPEATS_MODULE,
				   &rows[module]);
	}
	*ret = rows;
	*ret_count = squeeze(rows, count);
	return 0;
}

/* Computed from samples, since the graph's nodes have no threads. */
int table_of_threads(const struct graph *graph, const struct weights_opts *opts,
		     struct table_row **ret, size_t *ret_count)
{
	const struct profile *profile = graph->profile;
	uint32_t count = profile_count_threads(profile);
	struct table_row *rows = make_rows(count);

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		enum source_side side = weights_classify(graph, opts, i);

		if (side == SIDE_SHOWN)
			rows[sample->thread].total += weights_get_value(graph, opts, i);
		else if (side == SIDE_BASELINE)
			rows[sample->thread].baseline_total += weights_get_value(graph, opts, i);
	}
	*ret = rows;
	*ret_count = squeeze(rows, count);
	return 0;
}
