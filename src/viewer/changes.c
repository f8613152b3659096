/*
 * The sides are prepared for analysis/diff.h: the samples of each, how many were drawn, and its
 * runs. There, a function is a name in a module. The results are then looked up for the functions
 * of the graph, which also distinguish the kernel's.
 */
#include "viewer/changes.h"

#include <errno.h>
#include <string.h>

#include "analysis/diff.h"
#include "analysis/sample_counts.h"
#include "base/array.h"
#include "base/intern.h"

struct change_side {
	enum source_side side;
	uint32_t metric;
	struct selection selection; /* samples of all metrics */
	uint64_t *values;           /* NULL: no filter by time */
	struct sample_counts counts;
	ARRAY(struct diff_run) runs;
};

static bool compares_metrics(const struct weights_opts *opts)
{
	return opts->baseline_metric != METRIC_NONE;
}

static uint32_t get_source(const struct profile *profile, uint32_t sample)
{
	return profile_get_thread(profile, profile_get_sample(profile, sample)->thread)->source;
}

/* Whether a sample of any metric is of the side, and passes the filters. */
static bool is_of_side(const struct graph *graph, const struct weights_opts *opts,
		       enum source_side side, uint32_t sample)
{
	uint8_t of_source = opts->sides[get_source(graph->profile, sample)];

	if (!selection_contains(opts->selection, sample) ||
	    (opts->values && !opts->values[sample] &&
	     profile_get_sample(graph->profile, sample)->value))
		return false;
	return compares_metrics(opts) ? of_source != SIDE_OFF : of_source == side;
}

static int select_samples(struct change_side *side, const struct graph *graph,
			  const struct weights_opts *opts)
{
	uint32_t count = profile_count_samples(graph->profile);

	side->selection.num_samples = count;
	side->selection.is_selected = calloc((size_t)count + 1, 1);
	if (opts->values)
		side->values = calloc((size_t)count + 1, sizeof(*side->values));
	if (!side->selection.is_selected || (opts->values && !side->values))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		bool is_selected = is_of_side(graph, opts, side->side, i);

		side->selection.is_selected[i] = is_selected;
		if (is_selected && side->values &&
		    profile_get_sample(graph->profile, i)->metric == side->metric)
			side->values[i] = opts->values[i];
	}
	return 0;
}

/* Weight of the sources of a side, with and without filters. */
struct source_weight {
	double all;
	double selected;
};

static void weigh_sources(const struct change_side *side, const struct graph *graph,
			  const struct weights_opts *opts, struct source_weight *weights)
{
	for (uint32_t i = 0; i < profile_count_samples(graph->profile); i++) {
		const struct sample *sample = profile_get_sample(graph->profile, i);
		struct source_weight *weight = &weights[get_source(graph->profile, i)];

		if (sample->metric != side->metric)
			continue;
		weight->all += (double)sample->value;
		if (side->selection.is_selected[i])
			weight->selected += (double)weights_get_value(graph, opts, i);
	}
}

/* Count a source's samples in proportion to its selected weight. */
static void count_known(struct change_side *side, const struct source_weight *weights,
			uint32_t num_sources, const uint64_t *num_samples)
{
	double sum = 0;

	for (uint32_t i = 0; i < num_sources; i++)
		if (weights[i].all > 0)
			sum += (double)num_samples[i] * weights[i].selected / weights[i].all;
	side->counts.num_samples = (uint64_t)sum;
}

static int add_runs(struct change_side *side, const struct source_weight *weights,
		    uint32_t num_sources)
{
	for (uint32_t i = 0; i < num_sources; i++) {
		struct diff_run *run = weights[i].selected > 0 ? array_add(&side->runs) : NULL;

		if (run)
			*run = (struct diff_run){i, i + 1};
		else if (weights[i].selected > 0)
			return -ENOMEM;
	}
	return 0;
}

static int prepare(struct change_side *side, const struct graph *graph,
		   const struct changes_opts *opts)
{
	uint32_t num_sources = profile_count_sources(graph->profile);
	_cleanup_free_ struct source_weight *weights =
		calloc((size_t)num_sources + 1, sizeof(*weights));
	int err;

	if (!weights)
		return -ENOMEM;
	err = select_samples(side, graph, opts->weights);
	if (err)
		return err;
	weigh_sources(side, graph, opts->weights, weights);
	err = sample_counts_find(graph->profile, side->metric, 0, &side->selection, &side->counts);
	if (err)
		return err;
	if (side->counts.is_of_profile)
		count_known(side, weights, num_sources,
			    side->side == SIDE_BASELINE ? opts->before_samples
							: opts->after_samples);
	return add_runs(side, weights, num_sources);
}

static void side_release(struct change_side *side)
{
	selection_release(&side->selection);
	free(side->values);
	array_release(&side->runs);
}

static struct diff_side_opts describe(const struct change_side *side,
				      const struct changes_opts *opts)
{
	return (struct diff_side_opts){
		.metric = side->metric,
		.selection = &side->selection,
		.values = side->values,
		.timestamps = opts->timestamps,
		.num_samples = side->counts.num_samples,
		.runs = {.items = side->runs.items, .length = side->runs.length},
	};
}

/* ---- from functions of the one to those of the other -------------------------------------- */

struct function_name {
	uint32_t name; /* strings of the profile */
	uint32_t module;
	uint32_t function; /* of the list */
};
INTERN_TABLE(function_names, struct function_name, name, module);

static int index_frames(const struct function_list *list, struct function_names *names)
{
	const struct profile *profile = list->tree->profile;

	for (uint32_t i = 0; i < profile_count_frames(profile); i++) {
		const struct frame *frame = profile_get_frame(profile, i);
		struct function_name name = {frame->name, frame->module, list->by_frame[i]};
		uint32_t item;
		int err = function_names_intern(names, &name, &item);

		if (err)
			return err;
	}
	return 0;
}

/* A function without frames is that of code without any: [unknown]. */
static uint32_t find_function(const struct function_list *list, const struct function_names *names,
			      const struct graph_function *function)
{
	struct function_name wanted = {.name = function->name, .module = function->module};
	uint32_t item = function_names_find(names, &wanted);

	return item == HASH_INDEX_NONE ? list->by_frame[profile_count_frames(list->tree->profile)]
				       : names->items[item].function;
}

static struct function_change make_change(const struct diff_row *row)
{
	return (struct function_change){
		.flags = (row->self.is_noise ? 0u : CHANGE_OF_SELF) |
			 (row->total.is_noise ? 0u : CHANGE_OF_TOTAL),
		.self_low = (float)(100 * row->self.low),
		.self_high = (float)(100 * row->self.high),
		.total_low = (float)(100 * row->total.low),
		.total_high = (float)(100 * row->total.high),
	};
}

static int take_rows(struct changes *changes, const struct graph *graph,
		     const struct diff_table *table, struct function_names *names)
{
	const struct function_list *list = &table->functions;
	_cleanup_free_ struct function_change *by_function =
		calloc(list->num_functions + 1, sizeof(*by_function));
	int err = index_frames(list, names);

	if (err)
		return err;
	changes->items = calloc((size_t)graph->num_functions + 1, sizeof(*changes->items));
	if (!by_function || !changes->items)
		return -ENOMEM;
	for (size_t i = 0; i < table->num_rows; i++)
		by_function[table->rows[i].id] = make_change(&table->rows[i]);
	for (uint32_t i = 0; i < graph->num_functions; i++)
		if (!graph->functions[i].is_thread)
			changes->items[i] =
				by_function[find_function(list, names, &graph->functions[i])];
	return 0;
}

static int compare(struct changes *changes, const struct graph *graph,
		   const struct frame_tree *tree, const struct diff_opts *opts)
{
	struct function_names names = {0};
	struct diff_table table;
	int err = diff_table_init(&table, tree, opts);

	if (!err)
		err = take_rows(changes, graph, &table, &names);
	function_names_release(&names);
	diff_table_release(&table);
	return err;
}

int changes_init(struct changes *changes, const struct graph *graph, const struct frame_tree *tree,
		 const struct changes_opts *opts)
{
	_cleanup_(side_release) struct change_side before = {.side = SIDE_BASELINE};
	_cleanup_(side_release) struct change_side after = {.side = SIDE_SHOWN};
	struct diff_opts diff;
	int err;

	*changes = (struct changes){0};
	after.metric = opts->weights->metric;
	before.metric = compares_metrics(opts->weights) ? opts->weights->baseline_metric
							: opts->weights->metric;
	err = prepare(&before, graph, opts);
	if (err)
		return err;
	err = prepare(&after, graph, opts);
	if (err)
		return err;
	changes->is_doubtful = before.counts.is_doubtful || after.counts.is_doubtful;
	diff = (struct diff_opts){
		.before = describe(&before, opts),
		.after = describe(&after, opts),
		.is_doubtful = changes->is_doubtful,
	};
	return compare(changes, graph, tree, &diff);
}

void changes_release(struct changes *changes)
{
	free(changes->items);
	*changes = (struct changes){0};
}
