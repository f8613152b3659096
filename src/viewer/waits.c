/*
 * A level of the view's fragment may be a thread, or the function of one module, which a fragment
 * of names cannot express. So for the first link, only samples count whose stack contains the
 * fragment in the graph.
 */
#include "viewer/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "viewer/fragments.h"

static uint32_t find_name(const struct waits *waits, uint32_t symbol)
{
	const struct graph *graph = waits->graph;
	uint32_t name = graph->symbols[symbol].name;

	return frame_tree_find_name(waits->tree, profile_get_string(graph->profile, name),
				    profile_get_string_length(graph->profile, name));
}

/* Take the functions among the levels, by name. */
static int take_fragment(struct waits *waits, const struct waits_opts *opts)
{
	struct fragment *fragment = &waits->fragment;

	fragment->frames = calloc((size_t)opts->num_levels + 1, sizeof(*fragment->frames));
	if (!fragment->frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < opts->num_levels; i++) {
		uint32_t symbol = level_get_symbol(opts->graph, opts->levels[i]);

		if (!opts->graph->symbols[symbol].is_thread)
			fragment->frames[fragment->num_frames++].name = find_name(waits, symbol);
	}
	return 0;
}

/* With a filter by time, a sample without any remaining weight is not selected. */
static bool is_shown(const struct waits_opts *opts, uint32_t id)
{
	const struct profile *profile = opts->graph->profile;
	const struct sample *sample = profile_get_sample(profile, id);
	const struct weights_opts *weights = opts->weights;

	return sample->metric == opts->metric && selection_contains(weights->selection, id) &&
	       (!weights->values || weights->values[id]) &&
	       weights->sides[profile_get_thread(profile, sample->thread)->source] == SIDE_SHOWN;
}

static int select_samples(struct waits *waits, const struct waits_opts *opts)
{
	uint32_t count = profile_count_samples(opts->graph->profile);

	waits->selection =
		(struct selection){calloc((size_t)count + 1, 1), count, opts->weights->values};
	waits->in_fragment = (struct selection){.is_selected = calloc((size_t)count + 1, 1),
						.num_samples = count};
	if (!waits->selection.is_selected || !waits->in_fragment.is_selected)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = opts->graph->sample_nodes[i];

		if (!is_shown(opts, i))
			continue;
		waits->selection.is_selected[i] = 1;
		waits->in_fragment.is_selected[i] =
			!opts->num_levels || opts->occurrences->first_ends[node];
		if (__builtin_add_overflow(waits->sum,
					   weights_get_value(opts->graph, opts->weights, i),
					   &waits->sum))
			return -EOVERFLOW;
	}
	return 0;
}

static int find_symbols(struct waits *waits)
{
	const struct graph *graph = waits->graph;
	uint32_t num_names = waits->tree->num_names;

	waits->symbols = calloc((size_t)num_names + 1, sizeof(*waits->symbols));
	if (!waits->symbols)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_names; i++)
		waits->symbols[i] = SYMBOL_NONE;
	for (uint32_t i = 0; i < graph->num_symbols; i++) {
		uint32_t name = graph->symbols[i].is_thread ? STRING_NONE : find_name(waits, i);

		if (name < num_names)
			waits->symbols[name] = i;
	}
	return 0;
}

static struct wakers_opts make_opts(const struct waits *waits)
{
	return (struct wakers_opts){
		.metric = waits->metric,
		.selection = &waits->selection,
		.fragment = waits->fragment.num_frames ? &waits->fragment : NULL,
		.waits = &waits->in_fragment,
	};
}

int waits_init(struct waits *waits, const struct waits_opts *opts)
{
	struct wakers_opts wakers;
	int err;

	*waits = (struct waits){
		.graph = opts->graph,
		.tree = opts->tree,
		.metric = opts->metric,
	};
	err = take_fragment(waits, opts);
	if (err)
		return err;
	err = select_samples(waits, opts);
	if (err)
		return err;
	err = find_symbols(waits);
	if (err)
		return err;
	wakers = make_opts(waits);
	err = wakers_answer_init(&waits->answer, waits->tree, &wakers);
	if (err)
		return err;
	waits->stacks = calloc(waits->answer.num_threads + 1, sizeof(*waits->stacks));
	if (!waits->stacks)
		return -ENOMEM;
	return waker_chain_init(&waits->chain, waits->tree, &wakers);
}

void waits_release(struct waits *waits)
{
	for (size_t i = 0; waits->stacks && i < waits->answer.num_threads; i++)
		fragment_tree_release(&waits->stacks[i]);
	free(waits->stacks);
	free(waits->symbols);
	wakers_answer_release(&waits->answer);
	waker_chain_release(&waits->chain);
	fragment_release(&waits->fragment);
	selection_release(&waits->selection);
	selection_release(&waits->in_fragment);
	*waits = (struct waits){0};
}

uint32_t waits_get_symbol(const struct waits *waits, uint32_t frame)
{
	return waits->symbols[frame_tree_get_name(waits->tree, frame)];
}

int waits_get_stacks(struct waits *waits, uint32_t thread, const struct fragment_tree **ret)
{
	struct fragment_tree *stacks = &waits->stacks[thread];
	struct wakers_opts wakers = make_opts(waits);

	if (!stacks->nodes) {
		int err = waker_stacks_init(stacks, waits->tree, &wakers,
					    waits->answer.threads[thread].frame);

		if (err)
			return err;
	}
	*ret = stacks;
	return 0;
}
