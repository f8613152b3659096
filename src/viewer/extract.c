/*
 * Stacks are copied level by level of the graph, not of the profile: a level is one function with
 * the kind of its node, so that stacks which differed in addresses alone become one.
 *
 * A stack that is cut loses its thread's level, unless that is in the fragment; its thread is then
 * a nameless one, as in formats that know no threads.
 */
#include "viewer/extract.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "viewer/fragments.h"

struct extractor {
	const struct session_look *look;
	const struct graph *graph;
	const struct weights *weights;
	const struct weights_opts *opts;
	struct profile *target;
	uint8_t *marks;       /* by node; NULL: no fragment */
	uint32_t *threads;    /* by thread of the profile, plus 1; 0: not copied */
	uint32_t bare_thread; /* of stacks that are cut */
	uint32_t metric;
	uint32_t baseline_metric;
	ARRAY(uint32_t) path; /* nodes from the innermost to the outermost */
};

static int copy_string(struct extractor *extractor, uint32_t string, uint32_t *ret)
{
	const struct profile *source = extractor->graph->profile;

	return string_table_add(profile_get_strings(extractor->target),
				profile_get_string(source, string),
				profile_get_string_length(source, string), ret);
}

static int add_metrics(struct extractor *extractor)
{
	const struct profile *source = extractor->graph->profile;
	const struct metric *metric = profile_get_metric(source, extractor->look->metric);
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

static int add_sources(struct extractor *extractor)
{
	const struct profile *source = extractor->graph->profile;
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_sources(source); i++) {
		uint32_t name;
		uint32_t id;

		err = copy_string(extractor, profile_get_source(source, i), &name);
		if (!err)
			err = profile_add_source(extractor->target, name, &id);
	}
	return err;
}

static int add_bare_thread(struct extractor *extractor)
{
	struct thread thread = {0};
	int err = profile_add_process(extractor->target, 0, STRING_EMPTY, &thread.process);

	return err ? err : profile_add_thread(extractor->target, &thread, &extractor->bare_thread);
}

static int copy_thread(struct extractor *extractor, uint32_t id, uint32_t *ret)
{
	const struct profile *source = extractor->graph->profile;
	struct thread thread = *profile_get_thread(source, id);
	const struct process_info *process = profile_get_process(source, thread.process);
	uint32_t comm;
	int err;

	if (extractor->threads[id]) {
		*ret = extractor->threads[id] - 1;
		return 0;
	}
	err = copy_string(extractor, process->comm, &comm);
	if (!err)
		err = profile_add_process(extractor->target, process->pid, comm, &thread.process);
	if (!err)
		err = copy_string(extractor, thread.comm, &thread.comm);
	if (!err)
		err = profile_add_thread(extractor->target, &thread, ret);
	if (!err)
		extractor->threads[id] = *ret + 1;
	return err;
}

static int add_level(struct extractor *extractor, uint32_t node, uint32_t *stack)
{
	const struct graph *graph = extractor->graph;
	const struct graph_function *function = &graph->functions[graph->node_functions[node]];
	struct frame frame = {
		.kind = graph->flags[node] & NODE_KIND_MASK,
		.is_inlined = graph->flags[node] & NODE_INLINED,
	};
	uint32_t location;
	int err = copy_string(extractor, function->name, &frame.name);

	frame.full_name = frame.name;
	if (!err)
		err = copy_string(extractor, function->module, &frame.module);
	if (!err)
		err = profile_add_frame_location(extractor->target, &frame, &location);
	return err ? err : profile_add_stack(extractor->target, *stack, location, stack);
}

/* The last node at or below `node` on its path where the fragment ends; GRAPH_ROOT: none. */
static uint32_t find_last(const struct extractor *extractor, uint32_t node)
{
	while (node != GRAPH_ROOT && !extractor->marks[node])
		node = extractor->graph->parents[node];
	return node;
}

static uint32_t find_first(const struct extractor *extractor, uint32_t node)
{
	uint32_t first = GRAPH_ROOT;

	for (; node != GRAPH_ROOT; node = extractor->graph->parents[node])
		if (extractor->marks[node])
			first = node;
	return first;
}

/*
 * extractor->path: the nodes to show of the stack that ends at `node`. Returns 0, -ENOMEM, or
 * -ENOENT when the fragment is not in it.
 */
static int cut(struct extractor *extractor, uint32_t node)
{
	const struct graph *graph = extractor->graph;
	uint32_t stop = GRAPH_ROOT; /* the first node that is not shown */

	if (extractor->marks && extractor->look->direction == FLAME_CALLERS)
		node = find_first(extractor, node);
	else if (extractor->marks)
		stop = find_last(extractor, node);
	if (extractor->marks &&
	    (node == GRAPH_ROOT ||
	     (stop == GRAPH_ROOT && extractor->look->direction == FLAME_CALLEES)))
		return -ENOENT;
	for (uint32_t i = 0; stop != GRAPH_ROOT && i < extractor->look->fragment_length; i++)
		stop = graph->parents[stop];
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
	int err = cut(extractor, graph->sample_nodes[id]);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (!extractor->marks)
		err = copy_thread(extractor, sample->thread, &thread);
	for (size_t i = extractor->path.length; !err && i-- > 0;) {
		uint32_t node = extractor->path.items[i];

		if (extractor->marks || !(graph->flags[node] & NODE_THREAD))
			err = add_level(extractor, node, &stack);
	}
	if (err)
		return err;
	return profile_add_sample(extractor->target, thread, stack,
				  is_baseline ? extractor->baseline_metric : extractor->metric,
				  weights_get_value(graph, extractor->opts, id));
}

static int add_samples(struct extractor *extractor)
{
	const struct graph *graph = extractor->graph;
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_samples(graph->profile); i++) {
		enum source_side side = weights_classify(graph, extractor->opts, i);

		if (side != SIDE_OFF)
			err = add_sample(extractor, i, side == SIDE_BASELINE);
	}
	return err;
}

static int mark(struct extractor *extractor)
{
	uint32_t length = extractor->look->fragment_length;
	_cleanup_free_ struct fragment_level *levels = calloc((size_t)length + 1, sizeof(*levels));

	extractor->marks = malloc(extractor->graph->num_nodes);
	if (!levels || !extractor->marks)
		return -ENOMEM;
	for (uint32_t i = 0; i < length; i++)
		levels[i] = (struct fragment_level){extractor->look->fragment[i], SYMBOL_NONE};
	fragment_mark(extractor->graph, levels, length, extractor->marks);
	return 0;
}

static int extract(struct extractor *extractor)
{
	int err = extractor->look->fragment_length ? mark(extractor) : 0;

	extractor->threads = calloc((size_t)profile_count_threads(extractor->graph->profile) + 1,
				    sizeof(*extractor->threads));
	extractor->target = profile_new();
	if (!extractor->threads || !extractor->target)
		return -ENOMEM;
	if (!err)
		err = add_sources(extractor);
	if (!err)
		err = add_metrics(extractor);
	if (!err && extractor->marks)
		err = add_bare_thread(extractor);
	return err ? err : add_samples(extractor);
}

int extract_view(struct session *session, struct profile **ret)
{
	struct extractor extractor = {
		.look = session_get_look(session),
		.graph = session_get_graph(session),
		.weights = session_get_weights(session),
		.opts = session_get_weights_opts(session),
	};
	int err = extract(&extractor);

	free(extractor.marks);
	free(extractor.threads);
	array_release(&extractor.path);
	if (err)
		profile_free(extractor.target);
	else
		*ret = extractor.target;
	return err;
}
