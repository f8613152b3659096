/*
 * A node of the flame is a set of nodes of the graph (its entries). Expanding it moves every entry
 * one step, to the children or to the caller, and groups the results by symbol. So the cost of a
 * node is the number of its entries' neighbours, and nodes that are too narrow to be seen cost
 * nothing.
 *
 * A fragment may occur more than once in a stack. For callees the last occurrence decides: every
 * node at the end of an occurrence is an entry, with its subtree up to the next such nodes. So the
 * entries share nothing. For callers the first decides: an entry is a node at the end of an
 * occurrence without another on the path to it, with its whole subtree.
 */
#include "viewer/flame.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "viewer/fragments.h"

struct flame_entry {
	uint32_t node;
	uint64_t weight; /* of the stacks through this node */
	uint64_t baseline;
};

/* A group under construction. */
struct flame_group {
	uint32_t symbol;
	uint32_t function;
	uint32_t node; /* the first graph node, for its flags */
	uint32_t num_entries;
	uint64_t total;
	uint64_t self;
	uint64_t baseline_total;
	uint64_t baseline_self;
};

struct arrival {
	struct flame_entry entry;
	uint32_t group;
};

struct flame {
	const struct graph *graph;
	const struct weights *weights;
	struct flame_opts opts;
	uint32_t *fragment;
	/* Total by graph node, without nested occurrences. */
	const uint64_t *drawn;
	const uint64_t *baseline; /* the same; NULL: no comparison */
	uint64_t *own_drawn;      /* allocated here; NULL: an array of the weights */
	uint64_t *own_baseline;
	uint32_t *group_of; /* by symbol: number of its group plus 1, while expanding; else 0 */
	double width;
	uint32_t top;
	ARRAY(struct flame_node) nodes;
	ARRAY(struct flame_entry) entries;
	ARRAY(struct flame_group) groups;
	ARRAY(struct arrival) arrivals;
	ARRAY(uint32_t) drawing_order; /* of groups in drawing order */
};

/*
 * Widths are weights, but shares in a comparison: half of the width for the node's share of the
 * shown sum, half for its share of the baseline's. So the longer recording does not hide the other
 * one.
 */
static double measure(const struct flame *flame, uint64_t total, uint64_t baseline)
{
	const struct weights *weights = flame->weights;
	double width = 0;

	if (!flame->baseline)
		return (double)total;
	if (weights->sum)
		width += 0.5 * (double)total / (double)weights->sum;
	if (weights->baseline_sum)
		width += 0.5 * (double)baseline / (double)weights->baseline_sum;
	return width;
}

static bool has_fragment(const struct flame *flame)
{
	return flame->opts.fragment_length > 0;
}

/* Weight of the nodes up to the next occurrence of the fragment. */
static uint64_t *add_up(const struct flame *flame, const uint64_t *self)
{
	const struct graph *graph = flame->graph;
	uint64_t *weights = malloc(graph->num_nodes * sizeof(*weights));

	if (!weights)
		return NULL;
	memcpy(weights, self, graph->num_nodes * sizeof(*weights));
	occurrences_add_up(flame->opts.occurrences->is_end, graph->parents, graph->num_nodes,
			   weights);
	return weights;
}

static int weigh(struct flame *flame)
{
	const struct weights *weights = flame->weights;

	flame->drawn = weights->total;
	flame->baseline = weights->baseline_total;
	/* Callers: entries have the weight of the stacks that they represent. */
	if (!has_fragment(flame) || flame->opts.direction == FLAME_CALLERS)
		return 0;
	flame->drawn = flame->own_drawn = add_up(flame, weights->self);
	if (!flame->drawn)
		return -ENOMEM;
	if (!flame->baseline)
		return 0;
	flame->baseline = flame->own_baseline = add_up(flame, weights->baseline_self);
	return flame->baseline ? 0 : -ENOMEM;
}

/* Nodes without weight on either side are not drawn, so they are not added. */
static int add_entry(struct flame *flame, uint32_t node, uint64_t weight, uint64_t baseline)
{
	if (!weight && !baseline)
		return 0;
	if (array_reserve(&flame->entries, flame->entries.length + 1))
		return -ENOMEM;
	flame->entries.items[flame->entries.length++] =
		(struct flame_entry){node, weight, baseline};
	return 0;
}

/* Add every occurrence with its own part of the stacks. */
static int add_callee_entries(struct flame *flame)
{
	const struct graph *graph = flame->graph;

	if (!has_fragment(flame))
		return add_entry(flame, GRAPH_ROOT, flame->drawn[GRAPH_ROOT],
				 flame->baseline ? flame->baseline[GRAPH_ROOT] : 0);
	for (uint32_t i = 1; i < graph->num_nodes; i++) {
		int err;

		if (!flame->opts.occurrences->is_end[i])
			continue;
		err = add_entry(flame, i, flame->drawn[i],
				flame->baseline ? flame->baseline[i] : 0);
		if (err)
			return err;
	}
	return 0;
}

/* Add the first occurrence in every stack, by the node of its outermost level. */
static int add_first_occurrences(struct flame *flame)
{
	const struct graph *graph = flame->graph;
	const struct weights *weights = flame->weights;

	for (uint32_t i = 1; i < graph->num_nodes; i++) {
		uint32_t start;
		int err;

		if (flame->opts.occurrences->first_ends[i] != i)
			continue;
		start = occurrence_get_caller(graph->parents, i, flame->opts.fragment_length - 1);
		err = add_entry(flame, start, weights->total[i],
				flame->baseline ? weights->baseline_total[i] : 0);
		if (err)
			return err;
	}
	return 0;
}

/* Without a fragment: add every stack from its innermost frame. */
static int add_leaf_entries(struct flame *flame)
{
	const struct weights *weights = flame->weights;
	size_t num_leaves = 0;

	for (uint32_t i = 0; i < flame->graph->num_nodes; i++)
		num_leaves += weights->self[i] || (flame->baseline && weights->baseline_self[i]);
	if (array_reserve(&flame->entries, num_leaves))
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->graph->num_nodes; i++) {
		int err = add_entry(flame, i, weights->self[i],
				    flame->baseline ? weights->baseline_self[i] : 0);

		if (err)
			return err;
	}
	return 0;
}

/* Add an entry's weight of stacks that start here (callers), or end here (callees). */
static void count_self(const struct flame *flame, const struct flame_entry *entry,
		       struct flame_group *group)
{
	const struct weights *weights = flame->weights;

	if (flame->opts.direction == FLAME_CALLEES) {
		group->self += weights->self[entry->node];
		if (flame->baseline)
			group->baseline_self += weights->baseline_self[entry->node];
	} else if (entry->node == GRAPH_ROOT || flame->graph->parents[entry->node] == GRAPH_ROOT) {
		group->self += entry->weight;
		group->baseline_self += entry->baseline;
	}
}

static void count_entry(const struct flame *flame, const struct flame_entry *entry,
			struct flame_group *group)
{
	group->total += entry->weight;
	group->baseline_total += entry->baseline;
	group->num_entries++;
	count_self(flame, entry, group);
}

/*
 * group_of finds the group of a symbol in one step. It is cleared by the groups, not as a whole,
 * since a profile may have a million symbols.
 */
static int add_arrival(struct flame *flame, const struct flame_entry *entry)
{
	const struct graph *graph = flame->graph;
	uint32_t symbol = graph_get_symbol(graph, entry->node);
	uint32_t number = flame->group_of[symbol];

	if (!number) {
		struct flame_group *group = array_add(&flame->groups);

		if (!group)
			return -ENOMEM;
		group->symbol = symbol;
		group->function = graph->node_functions[entry->node];
		group->node = entry->node;
		number = (uint32_t)flame->groups.length;
		flame->group_of[symbol] = number;
	}
	count_entry(flame, entry, &flame->groups.items[number - 1]);
	if (array_reserve(&flame->arrivals, flame->arrivals.length + 1))
		return -ENOMEM;
	flame->arrivals.items[flame->arrivals.length++] = (struct arrival){*entry, number - 1};
	return 0;
}

static int arrive_at_children(struct flame *flame, const struct flame_entry *from)
{
	const struct graph *graph = flame->graph;
	uint32_t end = graph->first_child[from->node + 1];

	for (uint32_t i = graph->first_child[from->node]; i < end; i++) {
		uint32_t child = graph->children[i];
		struct flame_entry entry = {child, flame->drawn[child],
					    flame->baseline ? flame->baseline[child] : 0};
		int err;

		if ((!entry.weight && !entry.baseline) ||
		    (has_fragment(flame) && flame->opts.occurrences->is_end[child]))
			continue;
		err = add_arrival(flame, &entry);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Entries with the same caller continue as one. Entries are in the order of graph nodes, so
 * siblings are often neighbours: only the last arrival is compared.
 */
static int arrive_at_caller(struct flame *flame, const struct flame_entry *from, bool is_leaf)
{
	struct flame_entry entry = *from;
	struct arrival *last =
		flame->arrivals.length ? &flame->arrivals.items[flame->arrivals.length - 1] : NULL;
	struct flame_group *group;

	if (!is_leaf)
		entry.node = flame->graph->parents[from->node];
	if (entry.node == GRAPH_ROOT)
		return 0;
	if (!last || last->entry.node != entry.node)
		return add_arrival(flame, &entry);
	group = &flame->groups.items[last->group];
	last->entry.weight += entry.weight;
	last->entry.baseline += entry.baseline;
	count_entry(flame, &entry, group);
	group->num_entries--;
	return 0;
}

/* Clear the groups of the previous expansion, complete or not. */
static void forget_groups(struct flame *flame)
{
	array_for_each (&flame->groups, group)
		flame->group_of[group->symbol] = 0;
	flame->groups.length = 0;
	flame->arrivals.length = 0;
	flame->drawing_order.length = 0;
}

struct ordered_group {
	double width;
	uint32_t rank;
	uint32_t group;
};

static int compare_width(const void *left, const void *right)
{
	const struct ordered_group *a = left;
	const struct ordered_group *b = right;

	if (a->width != b->width)
		return a->width > b->width ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int compare_rank(const void *left, const void *right)
{
	const struct ordered_group *a = left;
	const struct ordered_group *b = right;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* flame->drawing_order: the groups in drawing order. */
static int order_groups(struct flame *flame)
{
	size_t count = flame->groups.length;
	_cleanup_free_ struct ordered_group *groups = calloc(count + 1, sizeof(*groups));

	if (!groups || array_reserve(&flame->drawing_order, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct flame_group *group = &flame->groups.items[i];

		groups[i] = (struct ordered_group){
			measure(flame, group->total, group->baseline_total),
			flame->graph->name_rank[group->symbol],
			(uint32_t)i,
		};
	}
	qsort(groups, count, sizeof(*groups),
	      flame->opts.order == FLAME_BY_NAME ? compare_rank : compare_width);
	for (size_t i = 0; i < count; i++)
		flame->drawing_order.items[i] = groups[i].group;
	flame->drawing_order.length = count;
	return 0;
}

static void fill_node(const struct flame *flame, const struct flame_group *group, uint32_t parent,
		      double start, uint32_t first_entry, struct flame_node *node)
{
	*node = (struct flame_node){
		.parent = parent,
		.symbol = group->symbol,
		.function = group->function,
		.depth = flame->nodes.items[parent].depth + 1,
		.start = start,
		.width = measure(flame, group->total, group->baseline_total),
		.total = group->total,
		.self = group->self,
		.baseline_total = group->baseline_total,
		.baseline_self = group->baseline_self,
		.first_entry = first_entry,
		.num_entries = group->num_entries,
		.flags = flame->graph->flags[group->node],
	};
}

/*
 * Make children from the groups. Entries of one child are consecutive, though they were met in any
 * order: a counting sort, with the groups as digits.
 */
static int add_children(struct flame *flame, uint32_t parent)
{
	size_t first = flame->nodes.length;
	uint32_t next_entry = (uint32_t)flame->entries.length;
	double start = flame->nodes.items[parent].start;

	if (array_reserve(&flame->nodes, first + flame->groups.length) ||
	    array_reserve(&flame->entries, flame->entries.length + flame->arrivals.length))
		return -ENOMEM;
	for (size_t i = 0; i < flame->drawing_order.length; i++) {
		struct flame_group *group = &flame->groups.items[flame->drawing_order.items[i]];
		struct flame_node *node = &flame->nodes.items[first + i];

		fill_node(flame, group, parent, start, next_entry, node);
		start += node->width;
		next_entry += group->num_entries;
		group->num_entries = node->first_entry; /* from here on: place of the next entry */
	}
	array_for_each (&flame->arrivals, arrival)
		flame->entries.items[flame->groups.items[arrival->group].num_entries++] =
			arrival->entry;
	flame->entries.length += flame->arrivals.length;
	flame->nodes.length += flame->groups.length;
	flame->nodes.items[parent].first_child = (uint32_t)first;
	flame->nodes.items[parent].num_children = (uint32_t)flame->groups.length;
	return 0;
}

int flame_expand(struct flame *flame, uint32_t id)
{
	const struct flame_node *node = &flame->nodes.items[id];
	bool is_leaf = node->symbol == SYMBOL_NONE;
	int err;

	if (node->is_expanded)
		return 0;
	forget_groups(flame);
	/*
	 * Room for at least these; callers are never more. Growing would copy a million again and
	 * again.
	 */
	if (array_reserve(&flame->arrivals, node->num_entries))
		return -ENOMEM;
	for (uint32_t i = 0; i < node->num_entries; i++) {
		struct flame_entry entry = flame->entries.items[node->first_entry + i];

		err = flame->opts.direction == FLAME_CALLEES
			      ? arrive_at_children(flame, &entry)
			      : arrive_at_caller(flame, &entry, is_leaf);
		if (err)
			return err;
	}
	err = order_groups(flame);
	if (err)
		return err;
	err = add_children(flame, id);
	if (err)
		return err;
	flame->nodes.items[id].is_expanded = true;
	return 0;
}

/* Add the rows of the fragment, one node each; the entries belong to the last. */
static int add_base(struct flame *flame)
{
	const struct graph *graph = flame->graph;
	uint32_t length = flame->opts.fragment_length;
	uint32_t num_rows = length ? length : 1;
	struct flame_group sum = {0};

	array_for_each (&flame->entries, entry)
		count_entry(flame, entry, &sum);
	if (!length && flame->opts.direction == FLAME_CALLERS)
		sum.self = sum.baseline_self = 0;
	for (uint32_t row = 0; row < num_rows; row++) {
		uint32_t level = flame->opts.direction == FLAME_CALLEES ? row : num_rows - 1 - row;
		uint32_t id = length ? flame->fragment[level] : 0;
		struct flame_node *node = array_add(&flame->nodes);

		if (!node)
			return -ENOMEM;
		*node = (struct flame_node){
			.parent = row ? row - 1 : FLAME_NONE,
			.symbol = length ? level_get_symbol(graph, id) : SYMBOL_NONE,
			.function = length ? level_get_function(graph, id) : 0,
			.depth = row,
			.width = measure(flame, sum.total, sum.baseline_total),
			.total = sum.total,
			.baseline_total = sum.baseline_total,
			.is_base = true,
			.is_expanded = row + 1 < num_rows,
			.first_child = row + 1,
			.num_children = row + 1 < num_rows,
		};
		if (length && graph->symbols[node->symbol].is_thread)
			node->flags = NODE_THREAD;
		else if (length)
			node->flags = graph->functions[node->function].kind;
	}
	flame->top = num_rows - 1;
	flame->nodes.items[flame->top].self = sum.self;
	flame->nodes.items[flame->top].baseline_self = sum.baseline_self;
	flame->nodes.items[flame->top].num_entries = (uint32_t)flame->entries.length;
	flame->width = measure(flame, sum.total, sum.baseline_total);
	return 0;
}

static int add_entries(struct flame *flame)
{
	if (flame->opts.direction == FLAME_CALLEES)
		return add_callee_entries(flame);
	return has_fragment(flame) ? add_first_occurrences(flame) : add_leaf_entries(flame);
}

static int copy_fragment(struct flame *flame)
{
	uint32_t length = flame->opts.fragment_length;

	if (!length)
		return 0;
	flame->fragment = calloc(length, sizeof(*flame->fragment));
	if (!flame->fragment)
		return -ENOMEM;
	memcpy(flame->fragment, flame->opts.fragment, length * sizeof(*flame->fragment));
	return 0;
}

static int build(struct flame *flame)
{
	int err = copy_fragment(flame);

	if (err)
		return err;
	err = weigh(flame);
	if (err)
		return err;
	err = add_entries(flame);
	if (err)
		return err;
	flame->group_of = calloc((size_t)flame->graph->num_symbols + 1, sizeof(*flame->group_of));
	return flame->group_of ? add_base(flame) : -ENOMEM;
}

struct flame *flame_new(const struct graph *graph, const struct weights *weights,
			const struct flame_opts *opts)
{
	_cleanup_(flame_freep) struct flame *flame = calloc(1, sizeof(*flame));

	if (!flame)
		return NULL;
	flame->graph = graph;
	flame->weights = weights;
	flame->opts = *opts;
	if (build(flame))
		return NULL;
	return return_ptr(flame);
}

void flame_free(struct flame *flame)
{
	if (!flame)
		return;
	free(flame->fragment);
	free(flame->own_drawn);
	free(flame->own_baseline);
	free(flame->group_of);
	array_release(&flame->nodes);
	array_release(&flame->entries);
	array_release(&flame->groups);
	array_release(&flame->arrivals);
	array_release(&flame->drawing_order);
	free(flame);
}

const struct flame_node *flame_get_node(const struct flame *flame, uint32_t node)
{
	return &flame->nodes.items[node];
}

uint32_t flame_get_top(const struct flame *flame)
{
	return flame->top;
}

double flame_get_width(const struct flame *flame)
{
	return flame->width;
}

static bool node_matches(const struct graph *graph, const uint8_t *marks, uint32_t node)
{
	return marks[graph_get_symbol(graph, node)] & graph_get_marks(graph, node);
}

/* Below the last occurrence of the fragment: stacks with a match on the way count. */
static uint64_t measure_callees(const struct flame *flame, const uint8_t *marks,
				bool fragment_matches, uint8_t *state)
{
	enum { IN_VIEW = 1, MATCHED = 2 };
	const struct graph *graph = flame->graph;
	uint64_t weight = 0;

	state[GRAPH_ROOT] = has_fragment(flame) ? 0 : IN_VIEW;
	for (uint32_t i = 1; i < graph->num_nodes; i++) {
		if (has_fragment(flame) && flame->opts.occurrences->is_end[i])
			state[i] = IN_VIEW | (fragment_matches ? MATCHED : 0);
		else
			state[i] = state[graph->parents[i]];
		if (state[i] && node_matches(graph, marks, i))
			state[i] |= MATCHED;
		if (state[i] & MATCHED)
			weight += flame->weights->self[i];
	}
	return weight;
}

/* Above the first occurrence: entries with a match on the path to them count. */
static uint64_t measure_callers(const struct flame *flame, const uint8_t *marks,
				bool fragment_matches, uint8_t *state)
{
	const struct graph *graph = flame->graph;
	const struct flame_node *top = &flame->nodes.items[flame->top];
	uint64_t weight = 0;

	state[GRAPH_ROOT] = fragment_matches;
	for (uint32_t i = 1; i < graph->num_nodes; i++)
		state[i] = state[graph->parents[i]] || node_matches(graph, marks, i);
	for (uint32_t i = 0; i < top->num_entries; i++) {
		const struct flame_entry *entry = &flame->entries.items[top->first_entry + i];

		if (state[entry->node])
			weight += entry->weight;
	}
	return weight;
}

int flame_measure_matches(const struct flame *flame, const uint8_t *marks, uint64_t *ret_weight)
{
	_cleanup_free_ uint8_t *state = malloc(flame->graph->num_nodes);
	bool fragment_matches = false;

	if (!state)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->opts.fragment_length; i++) {
		uint32_t symbol = level_get_symbol(flame->graph, flame->fragment[i]);

		fragment_matches |= marks[symbol] && !flame->graph->symbols[symbol].is_thread;
	}
	*ret_weight = flame->opts.direction == FLAME_CALLEES
			      ? measure_callees(flame, marks, fragment_matches, state)
			      : measure_callers(flame, marks, fragment_matches, state);
	return 0;
}
