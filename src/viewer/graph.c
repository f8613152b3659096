/*
 * Making a graph: functions and symbols are interned, every location gets its levels (the function
 * and the calls inlined into it), and a node is a path of levels.
 *
 * In all profiles read from folded text, every location is one function and no thread has a level.
 * The profile's prefix tree of stacks is then such a tree of paths already, and only its columns
 * are copied. Otherwise paths (analysis/stack_paths.h) are interned in a second table of stacks,
 * whose levels are functions: locations that differ only in their addresses become one.
 *
 * Unlike analysis/call_tree.h, which joins frames by label, the graph has flags that distinguish
 * kernel, inlined and recursive frames. It also has children in one array, and names ranked once.
 * So the page can be redrawn for every movement of the mouse.
 */
#include "viewer/graph.h"

#include <errno.h>
#include <string.h>

#include "analysis/stack_paths.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/text.h"

#define NOT_MADE UINT32_MAX

/*
 * A row of the flat table is a name, a module, and whether it is kernel code. User and JIT code are
 * one kind here: a function that was seen before and after it was compiled is one.
 */
static uint64_t hash_function(const struct graph_function *function)
{
	uint64_t kind = function->is_thread | (function->kind == FRAME_KERNEL ? 2 : 0);

	return hash_mix(hash_mix(kind, function->name), function->module);
}

static bool is_same_function(const struct graph_function *a, const struct graph_function *b)
{
	return a->name == b->name && a->module == b->module && a->is_thread == b->is_thread &&
	       (a->kind == FRAME_KERNEL) == (b->kind == FRAME_KERNEL);
}

INTERN_TABLE_BY(graph_functions, struct graph_function, hash_function, is_same_function);
INTERN_TABLE(graph_symbols, struct graph_symbol, name, is_thread);

struct graph_builder {
	struct graph *graph;
	struct profile *profile;
	struct graph_functions functions;
	struct graph_symbols symbols;
	uint32_t *first_level; /* by location: its levels, outermost first, in level_functions */
	ARRAY(uint32_t) level_functions;
	ARRAY(uint8_t) level_flags;
	uint32_t *thread_functions; /* by thread; NOT_MADE: no level of its own */
	struct stack_table *paths;  /* levels are functions */
	ARRAY(uint8_t) path_flags;  /* by path */
};

static void graph_builder_release(struct graph_builder *builder)
{
	graph_functions_release(&builder->functions);
	graph_symbols_release(&builder->symbols);
	array_release(&builder->level_functions);
	array_release(&builder->level_flags);
	array_release(&builder->path_flags);
	stack_table_free(builder->paths);
	free(builder->first_level);
	free(builder->thread_functions);
}

/*
 * A symbol's function is the first one with its name; others with the name (in other modules) refer
 * to the same symbol.
 */
static int add_function(struct graph_builder *builder, struct graph_function function,
			uint32_t *ret)
{
	struct graph_symbol symbol = {
		.name = function.name,
		.function = (uint32_t)builder->functions.length,
		.is_thread = function.is_thread,
	};
	uint32_t id = graph_functions_find(&builder->functions, &function);

	if (id != HASH_INDEX_NONE) {
		*ret = id;
		return 0;
	}
	if (graph_symbols_intern(&builder->symbols, &symbol, &function.symbol))
		return -ENOMEM;
	return graph_functions_add(&builder->functions, &function, ret);
}

static int add_level(struct graph_builder *builder, const struct graph_function *function)
{
	uint32_t *id = array_add(&builder->level_functions);
	uint8_t *flags = array_add(&builder->level_flags);

	if (!id || !flags)
		return -ENOMEM;
	*flags = function->kind | (function->is_inlined ? NODE_INLINED : 0);
	return add_function(builder, *function, id);
}

/* Add the levels of a location, outermost first. */
static int add_location(struct graph_builder *builder, uint32_t id)
{
	const struct location *location = profile_get_location(builder->profile, id);
	struct graph_function function = {0};
	int err;

	if (!location->num_frames) { /* not symbolized */
		err = profile_add_string(builder->profile, UNKNOWN_NAME, &function.name);
		return err ? err : add_level(builder, &function);
	}
	for (uint32_t i = location->num_frames; i-- > 0;) {
		const struct frame *frame =
			profile_get_frame(builder->profile, location->first_frame + i);

		function = (struct graph_function){
			.name = frame->name,
			.module = frame->module,
			.kind = frame->kind,
			.is_inlined = frame->is_inlined,
		};
		err = add_level(builder, &function);
		if (err)
			return err;
	}
	return 0;
}

static int add_locations(struct graph_builder *builder)
{
	uint32_t count = profile_count_locations(builder->profile);

	builder->first_level = calloc((size_t)count + 1, sizeof(*builder->first_level));
	if (!builder->first_level)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		int err = add_location(builder, i);

		if (err)
			return err;
		builder->first_level[i + 1] = (uint32_t)builder->level_functions.length;
	}
	return 0;
}

static int add_thread(struct graph_builder *builder, uint32_t id, enum tree_root root)
{
	_cleanup_(text_release) struct text label = {0};
	struct graph_function function = {.is_thread = true};
	int err;

	builder->thread_functions[id] = NOT_MADE;
	if (!thread_has_label(builder->profile, id, root))
		return 0;
	thread_label_append(builder->profile, id, root, &label);
	if (label.failed)
		return -ENOMEM;
	err = profile_add_string(builder->profile, label.data, &function.name);
	return err ? err : add_function(builder, function, &builder->thread_functions[id]);
}

/* ret_any: whether there is any thread level. */
static int add_threads(struct graph_builder *builder, enum tree_root root, bool *ret_any)
{
	uint32_t count = profile_count_threads(builder->profile);

	*ret_any = false;
	builder->thread_functions = calloc((size_t)count + 1, sizeof(*builder->thread_functions));
	if (!builder->thread_functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		int err = add_thread(builder, i, root);

		if (err)
			return err;
		*ret_any |= builder->thread_functions[i] != NOT_MADE;
	}
	return 0;
}

static int allocate_nodes(struct graph *graph, uint32_t num_nodes)
{
	graph->num_nodes = num_nodes;
	graph->parents = calloc(num_nodes, sizeof(*graph->parents));
	graph->node_functions = calloc(num_nodes, sizeof(*graph->node_functions));
	graph->flags = calloc(num_nodes, sizeof(*graph->flags));
	return graph->parents && graph->node_functions && graph->flags ? 0 : -ENOMEM;
}

/*
 * Whether a stack of locations equals a path of functions. The number of levels shows that each
 * location has one; the number of functions, that no two locations have the same.
 */
static bool is_plain(const struct graph_builder *builder)
{
	uint32_t num_locations = profile_count_locations(builder->profile);

	return builder->level_functions.length == num_locations &&
	       builder->functions.length == num_locations;
}

static int copy_stacks(struct graph_builder *builder)
{
	struct graph *graph = builder->graph;
	uint32_t count = profile_count_stacks(builder->profile);

	graph->sample_nodes = calloc((size_t)profile_count_samples(builder->profile) + 1,
				     sizeof(*graph->sample_nodes));
	if (!graph->sample_nodes || allocate_nodes(graph, count))
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t level = profile_get_stack_location(builder->profile, i);

		graph->parents[i] = profile_get_stack_parent(builder->profile, i);
		graph->node_functions[i] = builder->level_functions.items[level];
		graph->flags[i] = builder->level_flags.items[level];
	}
	for (uint32_t i = 0; i < profile_count_samples(builder->profile); i++)
		graph->sample_nodes[i] = profile_get_sample(builder->profile, i)->stack;
	return 0;
}

/*
 * Extend a path by one level. A function that was inlined at one address, but not at another, has a
 * node for either, as a filter may be about the mark; views put them together.
 */
static int add_path(struct graph_builder *builder, uint32_t *path, uint32_t function, uint8_t flags)
{
	uint32_t level = function * NUM_FRAME_MARKS + node_flags_get_mark(flags);
	int err = stack_table_add(builder->paths, *path, level, path);
	uint8_t *added;

	if (err || *path < builder->path_flags.length)
		return err;
	added = array_add(&builder->path_flags);
	if (!added)
		return -ENOMEM;
	*added = flags;
	return 0;
}

static int add_thread_path(void *context, uint32_t thread, uint32_t *path)
{
	struct graph_builder *builder = context;
	uint32_t function = builder->thread_functions[thread];

	return function == NOT_MADE ? 0 : add_path(builder, path, function, NODE_THREAD);
}

static int add_location_path(void *context, uint32_t location, uint32_t *path)
{
	struct graph_builder *builder = context;

	for (uint32_t i = builder->first_level[location]; i < builder->first_level[location + 1];
	     i++) {
		int err = add_path(builder, path, builder->level_functions.items[i],
				   builder->level_flags.items[i]);

		if (err)
			return err;
	}
	return 0;
}

static int intern_paths(struct graph_builder *builder)
{
	const struct stack_paths_steps steps = {
		.add_thread = add_thread_path,
		.add_location = add_location_path,
		.context = builder,
	};
	struct graph *graph = builder->graph;
	int err;

	builder->paths = stack_table_new();
	/* The root has no flags. */
	if (!builder->paths || !array_add(&builder->path_flags))
		return -ENOMEM;
	err = stack_paths_find(builder->profile, &steps, &graph->sample_nodes);
	if (err)
		return err;
	if (allocate_nodes(graph, stack_table_get_count(builder->paths)))
		return -ENOMEM;
	for (uint32_t i = 1; i < graph->num_nodes; i++) {
		graph->parents[i] = stack_table_get_parent(builder->paths, i);
		graph->node_functions[i] =
			stack_table_get_level(builder->paths, i) / NUM_FRAME_MARKS;
		graph->flags[i] = builder->path_flags.items[i];
	}
	return 0;
}

static int link_children(struct graph *graph)
{
	graph->first_child = calloc((size_t)graph->num_nodes + 2, sizeof(*graph->first_child));
	graph->children = calloc(graph->num_nodes, sizeof(*graph->children));
	if (!graph->first_child || !graph->children)
		return -ENOMEM;
	/* Counted two places on, so that filling moves every start into its own place. */
	for (uint32_t i = 1; i < graph->num_nodes; i++)
		graph->first_child[graph->parents[i] + 2]++;
	for (uint32_t i = 1; i < graph->num_nodes; i++)
		graph->first_child[i + 1] += graph->first_child[i];
	for (uint32_t i = 1; i < graph->num_nodes; i++)
		graph->children[graph->first_child[graph->parents[i] + 1]++] = i;
	return 0;
}

/* Enter or leave a node: update the counts of its function and module on the path. */
static void mark_repeats(struct graph *graph, uint32_t node, uint32_t *on_path,
			 uint32_t *module_on_path)
{
	const struct graph_function *function = &graph->functions[graph->node_functions[node]];

	if (on_path[graph->node_functions[node]]++)
		graph->flags[node] |= NODE_REPEATS;
	if (module_on_path[function->module]++)
		graph->flags[node] |= NODE_REPEATS_MODULE;
}

/* Depth first, without recursion: a stack may have a hundred thousand levels. */
static int find_repeats(struct graph *graph)
{
	uint32_t num_strings = string_table_get_count(profile_get_strings(graph->profile));
	_cleanup_free_ uint32_t *next = malloc(graph->num_nodes * sizeof(*next));
	_cleanup_free_ uint32_t *on_path = calloc((size_t)graph->num_functions + 1, sizeof(*next));
	_cleanup_free_ uint32_t *module_on_path = calloc(num_strings, sizeof(*next));
	uint32_t node = GRAPH_ROOT;

	if (!next || !on_path || !module_on_path)
		return -ENOMEM;
	/*
	 * next[node] is the first child that was not visited yet: a depth-first walk needs no other
	 * state.
	 */
	memcpy(next, graph->first_child, graph->num_nodes * sizeof(*next));
	for (;;) {
		if (next[node] < graph->first_child[node + 1]) {
			node = graph->children[next[node]++];
			mark_repeats(graph, node, on_path, module_on_path);
			continue;
		}
		if (node == GRAPH_ROOT)
			return 0;
		on_path[graph->node_functions[node]]--;
		module_on_path[graph->functions[graph->node_functions[node]].module]--;
		node = graph->parents[node];
	}
}

struct ranked {
	const char *name;
	size_t length;
	uint32_t symbol;
};

/* Compare bytes, not by locale: the order of UTF-8 is that of its code points. */
static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left;
	const struct ranked *b = right;
	int order = memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);

	if (order)
		return order;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

/* Sorting children by name then compares two numbers, instead of two strings. */
static int rank_names(struct graph *graph)
{
	_cleanup_free_ struct ranked *ranked =
		calloc((size_t)graph->num_symbols + 1, sizeof(*ranked));

	graph->name_rank = calloc((size_t)graph->num_symbols + 1, sizeof(*graph->name_rank));
	if (!ranked || !graph->name_rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->num_symbols; i++) {
		uint32_t name = graph->symbols[i].name;

		ranked[i] = (struct ranked){profile_get_string(graph->profile, name),
					    profile_get_string_length(graph->profile, name), i};
	}
	qsort(ranked, graph->num_symbols, sizeof(*ranked), compare_ranked);
	for (uint32_t i = 0; i < graph->num_symbols; i++)
		graph->name_rank[ranked[i].symbol] = i;
	return 0;
}

static int find_symbols(struct graph *graph)
{
	graph->node_symbols = calloc(graph->num_nodes, sizeof(*graph->node_symbols));
	if (!graph->node_symbols)
		return -ENOMEM;
	for (uint32_t i = 1; i < graph->num_nodes; i++)
		graph->node_symbols[i] = graph->functions[graph->node_functions[i]].symbol;
	return 0;
}

static int build(struct graph_builder *builder, enum tree_root root)
{
	struct graph *graph = builder->graph;
	bool has_threads;
	bool plain;
	int err;

	err = add_locations(builder);
	if (err)
		return err;
	plain = is_plain(builder); /* before threads are added to the functions */
	err = add_threads(builder, root, &has_threads);
	if (err)
		return err;
	err = plain && !has_threads ? copy_stacks(builder) : intern_paths(builder);
	if (err)
		return err;
	graph->num_functions = (uint32_t)builder->functions.length;
	graph->functions = return_ptr(builder->functions.items);
	graph->num_symbols = (uint32_t)builder->symbols.length;
	graph->symbols = return_ptr(builder->symbols.items);
	err = find_symbols(graph);
	if (err)
		return err;
	err = link_children(graph);
	if (err)
		return err;
	err = find_repeats(graph);
	return err ? err : rank_names(graph);
}

struct graph *graph_new(struct profile *profile, enum tree_root root)
{
	_cleanup_(graph_freep) struct graph *graph = calloc(1, sizeof(*graph));
	_cleanup_(graph_builder_release) struct graph_builder builder = {
		.graph = graph,
		.profile = profile,
	};

	if (!graph)
		return NULL;
	graph->profile = profile;
	if (build(&builder, root))
		return NULL;
	return return_ptr(graph);
}

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	free(graph->functions);
	free(graph->symbols);
	free(graph->name_rank);
	free(graph->parents);
	free(graph->node_functions);
	free(graph->node_symbols);
	free(graph->flags);
	free(graph->first_child);
	free(graph->children);
	free(graph->sample_nodes);
	free(graph);
}

uint32_t graph_find_symbol(const struct graph *graph, const char *name, size_t length,
			   bool is_thread)
{
	for (uint32_t i = 0; i < graph->num_symbols; i++) {
		uint32_t string = graph->symbols[i].name;

		if (graph->symbols[i].is_thread == is_thread &&
		    profile_get_string_length(graph->profile, string) == length &&
		    memcmp(profile_get_string(graph->profile, string), name, length) == 0)
			return i;
	}
	return SYMBOL_NONE;
}
