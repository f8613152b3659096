/*
 * Making a graph. Where every location is one function and no thread level is wanted, as in
 * everything read from folded text, the profile's prefix tree of stacks is the wanted tree
 * already and only its columns are copied. Else paths are interned anew.
 */
#include "viewer/graph.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

#define UNKNOWN_NAME "[unknown]"
#define NOT_MADE     UINT32_MAX

struct graph_builder {
	struct graph *graph;
	struct profile *profile;
	ARRAY(struct graph_function) functions;
	ARRAY(struct graph_symbol) symbols;
	struct hash_index function_index;
	struct hash_index symbol_index;
	uint32_t *first_level; /* by location: its levels, outermost first, in level_functions */
	ARRAY(uint32_t) level_functions;
	ARRAY(uint8_t) level_flags;
	uint32_t *thread_functions; /* by thread; NOT_MADE: no level of its own */
	struct stack_table *paths;  /* levels are functions */
	ARRAY(uint8_t) path_flags;  /* by path */
	ARRAY(uint32_t) pending;    /* stacks from the innermost to the outermost */
};

struct graph_symbol_key {
	uint32_t name;
	bool is_thread;
};

static bool is_symbol(const void *owner, uint32_t item, const void *key)
{
	const struct graph_builder *maker = owner;
	const struct graph_symbol_key *wanted = key;

	return maker->symbols.items[item].name == wanted->name &&
	       maker->symbols.items[item].is_thread == wanted->is_thread;
}

/* The symbol of a function that is about to be added. */
static int add_symbol(struct graph_builder *maker, uint32_t name, bool is_thread, uint32_t *ret)
{
	struct graph_symbol_key key = {name, is_thread};
	uint64_t hash = hash_mix(is_thread, name);
	uint32_t id = hash_index_find(&maker->symbol_index, hash, is_symbol, maker, &key);
	struct graph_symbol *added;

	if (id == HASH_INDEX_NONE) {
		id = (uint32_t)maker->symbols.length;
		added = array_add(&maker->symbols);
		if (!added || hash_index_add(&maker->symbol_index, hash, id))
			return -ENOMEM;
		*added = (struct graph_symbol){
			.name = name,
			.function = (uint32_t)maker->functions.length,
			.is_thread = is_thread,
		};
	}
	*ret = id;
	return 0;
}

static bool is_function(const void *owner, uint32_t item, const void *key)
{
	const struct graph_builder *maker = owner;
	const struct graph_function *function = &maker->functions.items[item];
	const struct graph_function *wanted = key;

	return function->name == wanted->name && function->module == wanted->module &&
	       function->is_thread == wanted->is_thread &&
	       (function->kind == FRAME_KERNEL) == (wanted->kind == FRAME_KERNEL);
}

static int add_function(struct graph_builder *maker, const struct graph_function *wanted,
			uint32_t *ret)
{
	uint64_t kind = wanted->is_thread | (wanted->kind == FRAME_KERNEL ? 2 : 0);
	uint64_t hash = hash_mix(hash_mix(kind, wanted->name), wanted->module);
	uint32_t id = hash_index_find(&maker->function_index, hash, is_function, maker, wanted);
	struct graph_function *added;
	uint32_t symbol;

	if (id == HASH_INDEX_NONE) {
		id = (uint32_t)maker->functions.length;
		if (add_symbol(maker, wanted->name, wanted->is_thread, &symbol))
			return -ENOMEM;
		added = array_add(&maker->functions);
		if (!added || hash_index_add(&maker->function_index, hash, id))
			return -ENOMEM;
		*added = *wanted;
		added->symbol = symbol;
	}
	*ret = id;
	return 0;
}

static int add_level(struct graph_builder *maker, const struct graph_function *function)
{
	uint32_t *id = array_add(&maker->level_functions);
	uint8_t *flags = array_add(&maker->level_flags);

	if (!id || !flags)
		return -ENOMEM;
	*flags = function->kind | (function->is_inlined ? NODE_INLINED : 0);
	return add_function(maker, function, id);
}

static int add_location(struct graph_builder *maker, uint32_t id)
{
	const struct location *location = profile_get_location(maker->profile, id);
	struct graph_function function = {0};
	int err = 0;

	for (uint32_t i = location->num_frames; !err && i-- > 0;) {
		const struct frame *frame =
			profile_get_frame(maker->profile, location->first_frame + i);

		function = (struct graph_function){
			.name = frame->name,
			.module = frame->module,
			.kind = frame->kind,
			.is_inlined = frame->is_inlined,
		};
		err = add_level(maker, &function);
	}
	if (!err && !location->num_frames) {
		err = profile_add_string(maker->profile, UNKNOWN_NAME, &function.name);
		if (!err)
			err = add_level(maker, &function);
	}
	return err;
}

static int add_locations(struct graph_builder *maker)
{
	uint32_t count = profile_count_locations(maker->profile);
	int err = 0;

	maker->first_level = calloc((size_t)count + 1, sizeof(*maker->first_level));
	if (!maker->first_level)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < count; i++) {
		err = add_location(maker, i);
		maker->first_level[i + 1] = (uint32_t)maker->level_functions.length;
	}
	return err;
}

static int add_thread(struct graph_builder *maker, uint32_t id, enum tree_root root)
{
	const struct thread *thread = profile_get_thread(maker->profile, id);
	uint32_t pid = profile_get_process(maker->profile, thread->process)->pid;
	_cleanup_(text_release) struct text label = {0};
	struct graph_function function = {.is_thread = true};
	int err;

	maker->thread_functions[id] = NOT_MADE;
	if (root == TREE_ROOT_NONE || (thread->comm == STRING_EMPTY && !thread->tid && !pid))
		return 0;
	text_append_string(&label, thread->comm == STRING_EMPTY
					   ? UNKNOWN_NAME
					   : profile_get_string(maker->profile, thread->comm));
	if (root == TREE_ROOT_PID)
		text_printf(&label, "-%u", pid);
	if (root == TREE_ROOT_TID)
		text_printf(&label, "-%u/%u", pid, thread->tid);
	if (label.failed)
		return -ENOMEM;
	err = profile_add_string(maker->profile, label.data, &function.name);
	return err ? err : add_function(maker, &function, &maker->thread_functions[id]);
}

/* ret_any: whether there is a thread level at all. */
static int add_threads(struct graph_builder *maker, enum tree_root root, bool *ret_any)
{
	uint32_t count = profile_count_threads(maker->profile);
	int err = 0;

	*ret_any = false;
	maker->thread_functions = calloc((size_t)count + 1, sizeof(*maker->thread_functions));
	if (!maker->thread_functions)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < count; i++) {
		err = add_thread(maker, i, root);
		*ret_any |= maker->thread_functions[i] != NOT_MADE;
	}
	return err;
}

static int allocate_nodes(struct graph *graph, uint32_t num_nodes)
{
	graph->num_nodes = num_nodes;
	graph->parents = calloc(num_nodes, sizeof(*graph->parents));
	graph->node_functions = calloc(num_nodes, sizeof(*graph->node_functions));
	graph->flags = calloc(num_nodes, sizeof(*graph->flags));
	return graph->parents && graph->node_functions && graph->flags ? 0 : -ENOMEM;
}

/* Whether a stack of locations and a path of functions are the same thing. */
static bool is_plain(const struct graph_builder *maker)
{
	uint32_t num_locations = profile_count_locations(maker->profile);

	return maker->level_functions.length == num_locations &&
	       maker->functions.length == num_locations;
}

static int copy_stacks(struct graph_builder *maker)
{
	struct graph *graph = maker->graph;
	uint32_t count = profile_count_stacks(maker->profile);

	if (allocate_nodes(graph, count))
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t level = profile_get_stack_location(maker->profile, i);

		graph->parents[i] = profile_get_stack_parent(maker->profile, i);
		graph->node_functions[i] = maker->level_functions.items[level];
		graph->flags[i] = maker->level_flags.items[level];
	}
	for (uint32_t i = 0; i < profile_count_samples(maker->profile); i++)
		graph->sample_nodes[i] = profile_get_sample(maker->profile, i)->stack;
	return 0;
}

static int add_path(struct graph_builder *maker, uint32_t *path, uint32_t function, uint8_t flags)
{
	int err = stack_table_add(maker->paths, *path, function, path);
	uint8_t *added;

	while (!err && maker->path_flags.length <= *path) {
		added = array_add(&maker->path_flags);
		if (!added)
			return -ENOMEM;
		*added = flags;
	}
	return err;
}

static int add_location_path(struct graph_builder *maker, uint32_t *path, uint32_t location)
{
	int err = 0;

	for (uint32_t i = maker->first_level[location];
	     !err && i < maker->first_level[location + 1]; i++)
		err = add_path(maker, path, maker->level_functions.items[i],
			       maker->level_flags.items[i]);
	return err;
}

/* What is known of the stacks below one thread level: made[s].path is good while .root fits. */
struct made {
	uint32_t root;
	uint32_t path;
};

static int add_stack_path(struct graph_builder *maker, struct made *made, uint32_t root,
			  uint32_t stack, uint32_t *ret)
{
	uint32_t path;
	int err = 0;

	maker->pending.length = 0;
	while (stack != STACK_EMPTY && made[stack].root != root) {
		uint32_t *level = array_add(&maker->pending);

		if (!level)
			return -ENOMEM;
		*level = stack;
		stack = profile_get_stack_parent(maker->profile, stack);
	}
	path = stack == STACK_EMPTY ? root : made[stack].path;
	while (!err && maker->pending.length) {
		stack = maker->pending.items[--maker->pending.length];
		err = add_location_path(maker, &path,
					profile_get_stack_location(maker->profile, stack));
		made[stack] = (struct made){root, path};
	}
	*ret = path;
	return err;
}

/* Samples ordered by their thread's function, so that known stacks stay known. */
static uint32_t *order_samples(const struct graph_builder *maker)
{
	uint32_t count = profile_count_samples(maker->profile);
	size_t num_buckets = maker->functions.length + 2;
	uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
	_cleanup_free_ uint32_t *starts = calloc(num_buckets + 1, sizeof(*starts));

	if (!order || !starts) {
		free(order);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++) /* NOT_MADE + 1 is bucket 0 */
		starts[maker->thread_functions[profile_get_sample(maker->profile, i)->thread] + 1 +
		       1]++;
	for (size_t i = 0; i < num_buckets; i++)
		starts[i + 1] += starts[i];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t thread = profile_get_sample(maker->profile, i)->thread;

		order[starts[maker->thread_functions[thread] + 1]++] = i;
	}
	return order;
}

static int make_paths(struct graph_builder *maker)
{
	uint32_t num_samples = profile_count_samples(maker->profile);
	_cleanup_free_ uint32_t *order = order_samples(maker);
	_cleanup_free_ struct made *made =
		calloc((size_t)profile_count_stacks(maker->profile) + 1, sizeof(*made));
	int err = order && made && array_add(&maker->path_flags) ? 0 : -ENOMEM;

	/* No path is a root that was asked for yet: STACK_EMPTY is one that may be. */
	for (uint32_t i = 0; !err && i < profile_count_stacks(maker->profile); i++)
		made[i].root = NOT_MADE;
	for (uint32_t i = 0; !err && i < num_samples; i++) {
		const struct sample *sample = profile_get_sample(maker->profile, order[i]);
		uint32_t function = maker->thread_functions[sample->thread];
		uint32_t root = STACK_EMPTY;

		if (function != NOT_MADE)
			err = add_path(maker, &root, function, NODE_THREAD);
		if (!err)
			err = add_stack_path(maker, made, root, sample->stack,
					     &maker->graph->sample_nodes[order[i]]);
	}
	return err;
}

static int intern_paths(struct graph_builder *maker)
{
	struct graph *graph = maker->graph;
	int err;

	maker->paths = stack_table_new();
	err = maker->paths ? make_paths(maker) : -ENOMEM;
	if (!err)
		err = allocate_nodes(graph, stack_table_get_count(maker->paths));
	if (err)
		return err;
	for (uint32_t i = 1; i < graph->num_nodes; i++) {
		graph->parents[i] = stack_table_get_parent(maker->paths, i);
		graph->node_functions[i] = stack_table_get_level(maker->paths, i);
		graph->flags[i] = maker->path_flags.items[i];
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

/* Enter or leave a node: how often its function and module are on the path. */
static void mark_repeats(struct graph *graph, uint32_t node, uint32_t *on_path,
			 uint32_t *module_on_path)
{
	const struct graph_function *function = &graph->functions[graph->node_functions[node]];

	if (on_path[graph->node_functions[node]]++)
		graph->flags[node] |= NODE_REPEATS;
	if (module_on_path[function->module]++)
		graph->flags[node] |= NODE_REPEATS_MODULE;
}

/* Depth first, without recursion: a stack may be a hundred thousand levels deep. */
static int find_repeats(struct graph *graph)
{
	uint32_t num_strings = string_table_get_count(profile_get_strings(graph->profile));
	_cleanup_free_ uint32_t *next = malloc(graph->num_nodes * sizeof(*next));
	_cleanup_free_ uint32_t *on_path = calloc((size_t)graph->num_functions + 1, sizeof(*next));
	_cleanup_free_ uint32_t *module_on_path = calloc(num_strings, sizeof(*next));
	uint32_t node = GRAPH_ROOT;

	if (!next || !on_path || !module_on_path)
		return -ENOMEM;
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

static int make(struct graph_builder *maker, enum tree_root root)
{
	struct graph *graph = maker->graph;
	bool has_threads;
	int err = add_locations(maker);
	bool plain = is_plain(maker);

	graph->sample_nodes = calloc((size_t)profile_count_samples(maker->profile) + 1,
				     sizeof(*graph->sample_nodes));
	if (!err)
		err = graph->sample_nodes ? add_threads(maker, root, &has_threads) : -ENOMEM;
	if (!err)
		err = plain && !has_threads ? copy_stacks(maker) : intern_paths(maker);
	if (err)
		return err;
	graph->functions = maker->functions.items;
	graph->num_functions = (uint32_t)maker->functions.length;
	graph->symbols = maker->symbols.items;
	graph->num_symbols = (uint32_t)maker->symbols.length;
	maker->functions.items = NULL;
	maker->symbols.items = NULL;
	err = link_children(graph);
	if (!err)
		err = find_repeats(graph);
	return err ? err : rank_names(graph);
}

struct graph *graph_new(struct profile *profile, enum tree_root root)
{
	struct graph *graph = calloc(1, sizeof(*graph));
	struct graph_builder maker = {.graph = graph, .profile = profile};
	int err = -ENOMEM;

	if (graph) {
		graph->profile = profile;
		err = make(&maker, root);
	}
	array_release(&maker.functions);
	array_release(&maker.symbols);
	array_release(&maker.level_functions);
	array_release(&maker.level_flags);
	array_release(&maker.path_flags);
	array_release(&maker.pending);
	hash_index_release(&maker.function_index);
	hash_index_release(&maker.symbol_index);
	stack_table_free(maker.paths);
	free(maker.first_level);
	free(maker.thread_functions);
	if (err) {
		graph_free(graph);
		return NULL;
	}
	return graph;
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
