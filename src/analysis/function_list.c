/*
 * A function is a name in a module. Several frames may belong to one (its lines, its copies inlined
 * elsewhere), but a table counts functions. So each frame's function is found once, and samples are
 * then weighed by numbers alone.
 *
 * Self is the weight of samples whose innermost frame is the function. Total is that of samples
 * with the function anywhere, once each: if a path has several nodes of a recursive function, only
 * the outermost counts. add_totals() walks down the tree and keeps, for each function, the number
 * of its nodes on the present path.
 *
 * All sums are over samples of one metric, and the sum of all these is checked for overflow:
 * nothing else can exceed it.
 */
#include "analysis/function_list.h"

#include <errno.h>
#include <string.h>

#include "analysis/occurrences.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

struct function_key {
	uint32_t name;
	uint32_t module;
};

struct function_list_builder {
	struct function_list *list;
	bool joins_perf_maps;
	struct hash_index index;
	ARRAY(struct function_key) keys;
	ARRAY(struct function) functions;
};

static bool is_key(const void *owner, uint32_t item, const void *key)
{
	const struct function_list_builder *builder = owner;
	const struct function_key *wanted = key;

	return builder->keys.items[item].name == wanted->name &&
	       builder->keys.items[item].module == wanted->module;
}

/* "perf-123.map" */
static bool is_perf_map(const char *module)
{
	size_t digits;

	if (!string_starts_with(module, "perf-"))
		return false;
	module += strlen("perf-");
	digits = strspn(module, "0123456789");
	return digits && string_equals(module + digits, ".map");
}

/*
 * The function's module; *ret_id identifies it. Two runs of a program have two perf-PID.map files,
 * and would have no function in common.
 */
static const char *make_module(const struct function_list_builder *builder, uint32_t frame,
			       uint32_t *ret_id)
{
	const struct profile *profile = builder->list->tree->profile;
	const char *module;

	*ret_id = frame == FRAME_NONE ? STRING_EMPTY : profile_get_frame(profile, frame)->module;
	module = profile_get_string(profile, *ret_id);
	if (!builder->joins_perf_maps || !is_perf_map(module))
		return module;
	*ret_id = STRING_NONE;
	return "perf-PID.map";
}

static int add_frame(struct function_list_builder *builder, uint32_t frame, uint32_t *ret)
{
	const struct frame_tree *tree = builder->list->tree;
	struct function function = {0};
	struct function_key key = {.name = frame_tree_get_name(tree, frame)};
	struct function *added;
	struct function_key *added_key;
	uint64_t hash;

	function.name = frame_tree_get_name_text(tree, frame, &function.name_length);
	function.module = make_module(builder, frame, &key.module);
	hash = hash_mix(hash_mix(0, key.name), key.module);
	*ret = hash_index_find(&builder->index, hash, is_key, builder, &key);
	if (*ret != HASH_INDEX_NONE)
		return 0;
	added = array_add(&builder->functions);
	added_key = array_add(&builder->keys);
	if (!added || !added_key)
		return -ENOMEM;
	*added = function;
	*added_key = key;
	*ret = (uint32_t)(builder->functions.length - 1);
	return hash_index_add(&builder->index, hash, *ret);
}

/* The last entry is for code without frames, so that by_frame[num_frames] is [unknown]. */
static int build(struct function_list_builder *builder)
{
	struct function_list *list = builder->list;
	uint32_t num_frames = profile_count_frames(list->tree->profile);

	list->by_frame = calloc((size_t)num_frames + 1, sizeof(*list->by_frame));
	if (!list->by_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_frames; i++) {
		int err = add_frame(builder, i, &list->by_frame[i]);

		if (err)
			return err;
	}
	return add_frame(builder, FRAME_NONE, &list->by_frame[num_frames]);
}

int function_list_init(struct function_list *list, const struct frame_tree *tree,
		       bool joins_perf_maps)
{
	struct function_list_builder builder = {.list = list, .joins_perf_maps = joins_perf_maps};
	int err;

	*list = (struct function_list){.tree = tree};
	err = build(&builder);
	list->functions = builder.functions.items;
	list->num_functions = builder.functions.length;
	hash_index_release(&builder.index);
	array_release(&builder.keys);
	return err;
}

void function_list_release(struct function_list *list)
{
	free(list->functions);
	free(list->by_frame);
	*list = (struct function_list){0};
}

struct scale {
	const struct function_list *list;
	struct function_weight *weights;
	uint64_t *node_weights; /* of the samples at the node and, later, below it */
	bool *is_used;          /* by node: leads to a sample that counts */
	uint32_t *depths;       /* by function: number of occurrences on the current stack */
};

static uint32_t get_function(const struct function_list *list, uint32_t node)
{
	uint32_t frame = list->tree->frames[node];

	return list
		->by_frame[frame == FRAME_NONE ? profile_count_frames(list->tree->profile) : frame];
}

/* Weights to add: of the selected samples of a metric, or `values` instead of their weights. */
struct weighing {
	uint32_t metric;
	const struct selection *selection;
	const uint64_t *values;
};

static bool weighing_contains(const struct weighing *weighing, const struct sample *sample,
			      uint32_t id)
{
	if (weighing->values)
		return weighing->values[id];
	return sample->metric == weighing->metric && selection_contains(weighing->selection, id);
}

static int add_samples(struct scale *scale, const struct weighing *weighing, uint64_t *ret_sum)
{
	const struct frame_tree *tree = scale->list->tree;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(tree->profile); i++) {
		const struct sample *sample = profile_get_sample(tree->profile, i);
		uint64_t value = weighing->values ? weighing->values[i] : sample->value;
		uint32_t node = tree->stack_nodes[sample->stack];

		if (!weighing_contains(weighing, sample, i))
			continue;
		if (__builtin_add_overflow(sum, value, &sum))
			return -EOVERFLOW;
		scale->node_weights[node] += value;
		scale->is_used[node] = true;
		if (node != FRAME_TREE_ROOT)
			scale->weights[get_function(scale->list, node)].self += value;
	}
	*ret_sum = sum;
	occurrences_add_up(NULL, tree->parents, tree->num_nodes, scale->node_weights);
	for (uint32_t node = tree->num_nodes; node-- > 1;)
		if (scale->is_used[node])
			scale->is_used[tree->parents[node]] = true;
	return 0;
}

static void enter(struct scale *scale, uint32_t node)
{
	uint32_t function = get_function(scale->list, node);

	scale->weights[function].occurs = true;
	if (scale->depths[function]++ == 0)
		scale->weights[function].total += scale->node_weights[node];
}

/*
 * Subtrees without a sample that counts are skipped: with a filter they are most of the tree, and
 * their functions do not occur.
 */
static uint32_t find_used(const struct scale *scale, uint32_t node)
{
	while (node != FRAME_TREE_ROOT && !scale->is_used[node])
		node = scale->list->tree->next_siblings[node];
	return node;
}

/* Down each stack: a node's weight counts for its function unless that is on the stack already. */
static void add_totals(struct scale *scale)
{
	const struct frame_tree *tree = scale->list->tree;
	uint32_t node = find_used(scale, tree->first_children[FRAME_TREE_ROOT]);

	while (node != FRAME_TREE_ROOT) {
		uint32_t next;

		enter(scale, node);
		next = find_used(scale, tree->first_children[node]);
		while (next == FRAME_TREE_ROOT && node != FRAME_TREE_ROOT) {
			scale->depths[get_function(scale->list, node)]--;
			next = find_used(scale, tree->next_siblings[node]);
			node = tree->parents[node];
		}
		node = next;
	}
}

static int weigh(const struct function_list *list, const struct weighing *weighing,
		 struct function_weight *weights, uint64_t *ret_sum)
{
	uint32_t num_nodes = list->tree->num_nodes;
	_cleanup_free_ uint64_t *node_weights = calloc(num_nodes, sizeof(*node_weights));
	_cleanup_free_ bool *is_used = calloc(num_nodes, sizeof(*is_used));
	_cleanup_free_ uint32_t *depths = calloc(list->num_functions, sizeof(*depths));
	struct scale scale = {list, weights, node_weights, is_used, depths};
	int err;

	if (!node_weights || !is_used || !depths)
		return -ENOMEM;
	memset(weights, 0, list->num_functions * sizeof(*weights));
	err = add_samples(&scale, weighing, ret_sum);
	if (err)
		return err;
	add_totals(&scale);
	return 0;
}

int function_list_weigh(const struct function_list *list, uint32_t metric,
			const struct selection *selection, struct function_weight *weights,
			uint64_t *ret_sum)
{
	struct weighing weighing = {.metric = metric, .selection = selection};

	return weigh(list, &weighing, weights, ret_sum);
}

int function_list_weigh_values(const struct function_list *list, const uint64_t *values,
			       struct function_weight *weights, uint64_t *ret_sum)
{
	struct weighing weighing = {.values = values};

	return weigh(list, &weighing, weights, ret_sum);
}
