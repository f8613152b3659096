/*
 * Samples add their weight to the end node of their stack. One pass from the leaves to the root
 * makes totals of it; it relies only on parents having smaller numbers.
 */
#include "viewer/weights.h"

#include <errno.h>
#include <string.h>

#include "analysis/occurrences.h"

/*
 * A sample whose weight a time filter has removed counts as not selected; one that had no weight
 * from the start stays.
 */
enum source_side weights_classify(const struct graph *graph, const struct weights_opts *opts,
				  uint32_t id)
{
	const struct sample *sample = profile_get_sample(graph->profile, id);
	enum source_side side;

	if (sample->metric != opts->metric && sample->metric != opts->baseline_metric)
		return SIDE_OFF;
	if (!selection_contains(opts->selection, id) ||
	    (opts->values && !opts->values[id] && sample->value))
		return SIDE_OFF;
	side = opts->sides[profile_get_thread(graph->profile, sample->thread)->source];
	/*
	 * A comparison within the files (before and after as metrics) takes precedence over the
	 * sides of the files.
	 */
	if (side != SIDE_OFF && opts->baseline_metric != METRIC_NONE)
		side = sample->metric == opts->metric ? SIDE_SHOWN : SIDE_BASELINE;
	return side;
}

static int add_samples(struct weights *weights, const struct graph *graph,
		       const struct weights_opts *opts)
{
	for (uint32_t i = 0; i < profile_count_samples(graph->profile); i++) {
		enum source_side side = weights_classify(graph, opts, i);
		uint64_t value = weights_get_value(graph, opts, i);
		uint32_t node = graph->sample_nodes[i];
		uint64_t *sum = side == SIDE_SHOWN ? &weights->sum : &weights->baseline_sum;

		if (side == SIDE_OFF)
			continue;
		if (__builtin_add_overflow(*sum, value, sum))
			return -EOVERFLOW;
		/* No node's weight can exceed the sum. */
		if (side == SIDE_SHOWN)
			weights->self[node] += value;
		else
			weights->baseline_self[node] += value;
	}
	return 0;
}

static void add_up(const struct graph *graph, const uint64_t *self, uint64_t *total)
{
	memcpy(total, self, graph->num_nodes * sizeof(*total));
	occurrences_add_up(NULL, graph->parents, graph->num_nodes, total);
}

/*
 * Also without a sample on either side: the columns of a comparison are there from the moment it is
 * asked for.
 */
static bool is_comparison(const struct graph *graph, const struct weights_opts *opts)
{
	if (opts->baseline_metric != METRIC_NONE)
		return true;
	for (uint32_t i = 0; i < profile_count_sources(graph->profile); i++)
		if (opts->sides[i] == SIDE_BASELINE)
			return true;
	return false;
}

static int allocate(struct weights *weights, const struct graph *graph, bool has_baseline)
{
	size_t count = graph->num_nodes;

	weights->self = calloc(count, sizeof(uint64_t));
	weights->total = malloc(count * sizeof(uint64_t));
	if (!weights->self || !weights->total)
		return -ENOMEM;
	if (!has_baseline)
		return 0;
	weights->baseline_self = calloc(count, sizeof(uint64_t));
	weights->baseline_total = malloc(count * sizeof(uint64_t));
	return weights->baseline_self && weights->baseline_total ? 0 : -ENOMEM;
}

int weights_init(struct weights *weights, const struct graph *graph,
		 const struct weights_opts *opts)
{
	bool has_baseline = is_comparison(graph, opts);
	int err;

	*weights = (struct weights){0};
	err = allocate(weights, graph, has_baseline);
	if (err)
		goto err;
	err = add_samples(weights, graph, opts);
	if (err)
		goto err;
	add_up(graph, weights->self, weights->total);
	if (has_baseline)
		add_up(graph, weights->baseline_self, weights->baseline_total);
	return 0;
err:
	weights_release(weights);
	return err;
}

void weights_release(struct weights *weights)
{
	free(weights->self);
	free(weights->total);
	free(weights->baseline_self);
	free(weights->baseline_total);
	*weights = (struct weights){0};
}
