/*
 * Stacks are copied level by level of the graph, not of the profile: a level is one function with
 * the kind of its node, so that stacks that differ only in addresses become one.
 *
 * With a fragment, frames below its first occurrence (callers) or above its last one (callees) are
 * not shown, and the stack is truncated there. Such a stack loses its thread's level, unless the
 * fragment includes that; its thread is then one without name and id, as in formats without
 * threads.
 */
#include "viewer/extract.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "profile/copier.h"
#include "viewer/fragments.h"

struct extractor {
	const struct session_query *query;
	const struct graph *graph;
	const struct weights *weights;
	const struct weights_opts *opts;
	struct profile *target;
	struct profile_copier copier;   /* to the target */
	struct occurrences occurrences; /* of the fragment, if any */
	uint32_t bare_thread;           /* of truncated stacks */
	uint32_t metric;
	uint32_t baseline_metric;
	ARRAY(uint32_t) path; /* nodes from the innermost to the outermost */
};

static bool has_fragment(const struct extractor *extractor)
{
	return extractor->query->fragment_length > 0;
}

static int add_metrics(struct extractor *extractor)
{
	const struct profile *source = extractor->graph->profile;
	const struct metric *metric = profile_get_metric(source, extractor->query->metric);
	const char *unit = profile_get_string(source, metric->unit);
	int err;

	if (!extractor->weights->baseline_self)
		return profile_add_metric(extractor->target,
					  profile_get_string(source, metric->name), unit,
					  &extractor->metric);
	err = profile_add_metric(extractor->target, METRIC_BEFORE, unit,
				 &extractor->baseline_metric);
	return err ? err
		   : profile_add_metric(extractor->target, METRIC_AFTER, unit, &extractor->metric);
}

/* Copy all of them, so that the threads' source numbers stay valid. */
static int add_sources(struct extractor *extractor)
{
	const struct profile *source = extractor->graph->profile;

	for (uint32_t i = 0; i < profile_count_sources(source); i++) {
		uint32_t name = profile_get_source(source, i);
		uint32_t id;
		int err = profile_copier_copy_string(&extractor->copier, &name);

		if (err)
			return err;
		err = profile_add_source(extractor->target, name, &id);
		if (err)
			return err;
	}
	return 0;
}

static int add_bare_thread(struct extractor *extractor)
{
	struct thread thread = {0};
	int err = profile_add_process(extractor->target, 0, STRING_EMPTY, &thread.process);

	return err ? err : profile_add_thread(extractor->target, &thread, &extractor->bare_thread);
}

static int add_level(struct extractor *extractor, uint32_t node, uint32_t *stack)
{
	const struct graph *graph = extractor->graph;
	const struct graph_function *function = &graph->functions[graph->node_functions[node]];
	struct frame frame = {
		.name = function->name,
		.module = function->module,
		.kind = graph->flags[node] & NODE_KIND_MASK,
		.is_inlined = graph->flags[node] & NODE_INLINED,
	};
	int err = profile_copier_copy_string(&extractor->copier, &frame.name);

	if (err)
		return err;
	frame.full_name = frame.name;
	err = profile_copier_copy_string(&extractor->copier, &frame.module);
	if (err)
		return err;
	return profile_extend_stack(extractor->target, &frame, stack);
}

/*
 * extractor->path: the nodes to show of the stack that ends at `node`. Returns 0, -ENOMEM, or
 * -ENOENT if it does not contain the fragment. Callers: from the first occurrence outwards.
 * Callees: from the innermost frame to the start of the last occurrence.
 */
static int find_path(struct extractor *extractor, uint32_t node)
{
	const struct graph *graph = extractor->graph;
	uint32_t stop = GRAPH_ROOT; /* the first hidden node */

	if (has_fragment(extractor)) {
		if (extractor->occurrences.first_ends[node] == GRAPH_ROOT)
			return -ENOENT;
		if (extractor->query->direction == FLAME_CALLERS)
			node = extractor->occurrences.first_ends[node];
		else
			stop = occurrence_get_caller(graph->parents,
						     occurrences_find_last(&extractor->occurrences,
									   graph->parents, node),
						     extractor->query->fragment_length);
	}
	extractor->path.length = 0;
	for (; node != stop; node = graph->parents[node]) {
		uint32_t *added = array_add(&extractor->path);

		if (!added)
			return -ENOMEM;
		*added = node;
	}
	return 0;
}

static int add_sample(struct extractor *extractor, uint32_t id, bool is_baseline)
{
	const struct graph *graph = extractor->graph;
	const struct sample *sample = profile_get_sample(graph->profile, id);
	uint32_t thread = extractor->bare_thread;
	uint32_t stack = STACK_EMPTY;
	int err = find_path(extractor, graph->sample_nodes[id]);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (!has_fragment(extractor)) {
		err = profile_copier_copy_thread(&extractor->copier, sample->thread);
		if (err)
			return err;
		thread = extractor->copier.threads[sample->thread];
	}
	for (size_t i = extractor->path.length; i-- > 0;) {
		uint32_t node = extractor->path.items[i];

		/* The thread itself is part of the sample: writers make its level again. */
		if (!has_fragment(extractor) && graph->flags[node] & NODE_THREAD)
			continue;
		err = add_level(extractor, node, &stack);
		if (err)
			return err;
	}
	return profile_add_sample(extractor->target, thread, stack,
				  is_baseline ? extractor->baseline_metric : extractor->metric,
				  weights_get_value(graph, extractor->opts, id));
}

static int extract(struct extractor *extractor)
{
	const struct profile *profile = extractor->graph->profile;
	int err = graph_find_fragment(extractor->graph, extractor->query->fragment,
				      extractor->query->fragment_length, &extractor->occurrences);

	if (err)
		return err;
	extractor->target = profile_new();
	if (!extractor->target)
		return -ENOMEM;
	err = profile_copier_init(&extractor->copier, extractor->target, profile);
	if (err)
		return err;
	err = add_sources(extractor);
	if (err)
		return err;
	err = add_metrics(extractor);
	if (err)
		return err;
	if (has_fragment(extractor)) {
		err = add_bare_thread(extractor);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		enum source_side side = weights_classify(extractor->graph, extractor->opts, i);

		if (side == SIDE_OFF)
			continue;
		err = add_sample(extractor, i, side == SIDE_BASELINE);
		if (err)
			return err;
	}
	return 0;
}

static void extractor_release(struct extractor *extractor)
{
	occurrences_release(&extractor->occurrences);
	profile_copier_release(&extractor->copier);
	array_release(&extractor->path);
	profile_free(extractor->target);
}

int extract_view(struct session *session, struct profile **ret)
{
	_cleanup_(extractor_release) struct extractor extractor = {
		.query = session_get_query(session),
		.graph = session_get_graph(session),
		.weights = session_get_weights(session),
		.opts = session_get_weights_opts(session),
	};
	int err = extract(&extractor);

	if (err)
		return err;
	*ret = return_ptr(extractor.target);
	return 0;
}
