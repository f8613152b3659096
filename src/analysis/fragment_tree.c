/*
 * The trees of callers and callees.
 *
 * A node of the result represents many nodes of the frame tree, its items. The result grows level
 * by level: the items of a node lead to the next nodes of the frame tree, down (callees) or up
 * (callers). These become items of the child that has their name. An array by name finds the child,
 * so there is no hashing, and an item is visited once.
 *
 * Going up, paths of items join: different callees have the same caller. They become one item with
 * the sum of their weights.
 */
#include <errno.h>
#include <string.h>

#include "analysis/fragment.h"
#include "base/array.h"

#define NO_ITEM UINT32_MAX

struct item {
	/* Callees: the represented node. Callers: the node whose caller is next. */
	uint32_t node;
	uint32_t owner; /* the result's node */
	uint32_t next;  /* item of the same owner; or the next free one; NO_ITEM */
	uint64_t weight;
};

struct grown {
	struct fragment_node node;
	const char *name;
	uint32_t items;
	uint32_t depth; /* 0: the fragment */
};

/* by_name and by_node are never cleared: their entries are checked against the owner before use. */
struct builder {
	const struct frame_tree *tree;
	const struct fragment *fragment;
	enum fragment_direction direction;
	size_t max_depth;
	struct occurrences occurrences;
	bool *is_used;     /* by node of the frame tree: leads to a sample that counts */
	uint64_t *weights; /* by node: of these samples */
	uint32_t *by_name; /* the latest of the result's nodes with this name */
	uint32_t *by_node; /* callers: the latest item of this node */
	ARRAY(struct grown) grown;
	ARRAY(struct item) items;
	uint32_t free_items;
};

/*
 * Items that were followed are reused: there are never more than those of two levels of the result.
 */
static int add_item(struct builder *builder, uint32_t owner, uint32_t node, uint64_t weight)
{
	uint32_t id = builder->free_items;
	struct item *item;

	if (builder->by_node) {
		uint32_t known = builder->by_node[node];

		if (known < builder->items.length && builder->items.items[known].owner == owner &&
		    builder->items.items[known].node == node) {
			builder->items.items[known].weight += weight;
			return 0;
		}
	}
	if (id != NO_ITEM) {
		item = &builder->items.items[id];
		builder->free_items = item->next;
	} else {
		id = (uint32_t)builder->items.length;
		item = id == NO_ITEM ? NULL : array_add(&builder->items);
		if (!item)
			return -ENOMEM;
	}
	*item = (struct item){node, owner, builder->grown.items[owner].items, weight};
	builder->grown.items[owner].items = id;
	if (builder->by_node)
		builder->by_node[node] = id;
	return 0;
}

/* Add a node of the frame tree to the child of `parent` with its name. */
static int add_to_child(struct builder *builder, uint32_t parent, uint32_t node, uint64_t weight)
{
	const struct frame_tree *tree = builder->tree;
	uint32_t frame = tree->frames[node];
	uint32_t *child = &builder->by_name[frame_tree_get_name(tree, frame)];
	struct grown *grown;

	if (!*child || builder->grown.items[*child].node.parent != parent) {
		if (builder->grown.length == UINT32_MAX)
			return -ENOMEM;
		grown = array_add(&builder->grown);
		if (!grown)
			return -ENOMEM;
		*child = (uint32_t)(builder->grown.length - 1);
		grown->node = (struct fragment_node){.frame = frame, .parent = parent};
		grown->name = frame_tree_get_name_text(tree, frame, NULL);
		grown->items = NO_ITEM;
		grown->depth = builder->grown.items[parent].depth + 1;
	}
	builder->grown.items[*child].node.total += weight;
	if (builder->direction == FRAGMENT_CALLERS)
		node = tree->parents[node];
	return add_item(builder, *child, node, weight);
}

static int follow_item(struct builder *builder, uint32_t parent, const struct item *item)
{
	const struct frame_tree *tree = builder->tree;

	if (builder->direction == FRAGMENT_CALLERS)
		return item->node == FRAME_TREE_ROOT
			       ? 0
			       : add_to_child(builder, parent, item->node, item->weight);
	for (uint32_t node = tree->first_children[item->node]; node != FRAME_TREE_ROOT;
	     node = tree->next_siblings[node]) {
		int err;

		if (!builder->is_used[node] || builder->occurrences.is_end[node])
			continue;
		err = add_to_child(builder, parent, node, builder->weights[node]);
		if (err)
			return err;
	}
	return 0;
}

/* Heaviest first; names make the order the same every time. */
static int compare_grown(const void *left, const void *right)
{
	const struct grown *a = left;
	const struct grown *b = right;

	if (a->node.total != b->node.total)
		return a->node.total > b->node.total ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The children of a node are consecutive: sort them, and link them. */
static void link_children(struct builder *builder, uint32_t parent, size_t first)
{
	struct grown *grown = builder->grown.items;
	size_t count = builder->grown.length - first;
	uint64_t sum = 0;

	qsort(grown + first, count, sizeof(*grown), compare_grown);
	for (size_t i = first; i < first + count; i++) {
		sum += grown[i].node.total;
		if (i + 1 < first + count)
			grown[i].node.next_sibling = (uint32_t)(i + 1);
		for (uint32_t item = grown[i].items; item != NO_ITEM;
		     item = builder->items.items[item].next)
			builder->items.items[item].owner = (uint32_t)i;
	}
	grown[parent].node.first_child = count ? (uint32_t)first : 0;
	/* Weight without a child: of stacks that end here (callees) or start here (callers). */
	grown[parent].node.self = grown[parent].node.total - sum;
}

static int grow_node(struct builder *builder, uint32_t parent)
{
	size_t first = builder->grown.length;
	bool is_last =
		builder->max_depth && builder->grown.items[parent].depth >= builder->max_depth;
	uint32_t id = builder->grown.items[parent].items;

	while (id != NO_ITEM) {
		struct item item = builder->items.items[id];
		int err;

		/* A free item has no owner, so that by_node cannot find it. */
		builder->items.items[id].owner = UINT32_MAX;
		builder->items.items[id].next = builder->free_items;
		builder->free_items = id;
		id = item.next;
		if (is_last)
			continue;
		err = follow_item(builder, parent, &item);
		if (err)
			return err;
	}
	link_children(builder, parent, first);
	return 0;
}

/* Add up the samples that count, at their nodes or, for callers, at the first occurrence's end. */
static int add_samples(struct builder *builder, uint32_t metric, const struct selection *selection)
{
	const struct frame_tree *tree = builder->tree;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(tree->profile); i++) {
		const struct sample *sample = profile_get_sample(tree->profile, i);
		uint32_t node = tree->stack_nodes[sample->stack];
		uint32_t first_end = builder->occurrences.first_ends[node];
		uint64_t value = selection_get_value(selection, tree->profile, i);

		if (sample->metric != metric || !selection_contains(selection, i))
			continue;
		if (builder->fragment->num_frames && first_end == FRAME_TREE_ROOT)
			continue;
		if (builder->fragment->num_frames && builder->direction == FRAGMENT_CALLERS)
			node = first_end;
		if (__builtin_add_overflow(sum, value, &sum))
			return -EOVERFLOW;
		builder->is_used[node] = true;
		builder->weights[node] += value;
	}
	builder->grown.items[0].node.total = sum;
	return 0;
}

/* Weight below a node belongs to it too, unless the fragment occurs there once more. */
static int start_callees(struct builder *builder)
{
	const struct frame_tree *tree = builder->tree;

	occurrences_add_up(builder->occurrences.is_end, tree->parents, tree->num_nodes,
			   builder->weights);
	for (uint32_t node = tree->num_nodes; node-- > 1;)
		if (builder->is_used[node] && !builder->occurrences.is_end[node])
			builder->is_used[tree->parents[node]] = true;
	if (!builder->fragment->num_frames)
		return add_item(builder, 0, FRAME_TREE_ROOT, 0);
	for (uint32_t node = 1; node < tree->num_nodes; node++) {
		int err;

		if (!builder->is_used[node] || !builder->occurrences.is_end[node])
			continue;
		err = add_item(builder, 0, node, 0);
		if (err)
			return err;
	}
	return 0;
}

static int start_callers(struct builder *builder)
{
	const struct frame_tree *tree = builder->tree;
	int err;

	for (uint32_t node = 0; node < tree->num_nodes; node++) {
		if (!builder->is_used[node])
			continue;
		err = add_item(
			builder, 0,
			occurrence_get_caller(tree->parents, node, builder->fragment->num_frames),
			builder->weights[node]);
		if (err)
			return err;
	}
	return 0;
}

static int allocate(struct builder *builder)
{
	const struct frame_tree *tree = builder->tree;
	struct grown *root = array_add(&builder->grown);

	builder->is_used = calloc(tree->num_nodes, sizeof(*builder->is_used));
	builder->weights = calloc(tree->num_nodes, sizeof(*builder->weights));
	builder->by_name = calloc(tree->num_names, sizeof(*builder->by_name));
	if (builder->direction == FRAGMENT_CALLERS)
		builder->by_node = calloc(tree->num_nodes, sizeof(*builder->by_node));
	if (!root || !builder->is_used || !builder->weights || !builder->by_name ||
	    (builder->direction == FRAGMENT_CALLERS && !builder->by_node))
		return -ENOMEM;
	root->node.frame = FRAME_NONE;
	root->items = NO_ITEM;
	return 0;
}

static int grow(struct builder *builder, uint32_t metric, const struct selection *selection)
{
	int err = allocate(builder);

	if (err)
		return err;
	err = fragment_find(builder->fragment, builder->tree, &builder->occurrences);
	if (err)
		return err;
	err = add_samples(builder, metric, selection);
	if (err)
		return err;
	err = builder->direction == FRAGMENT_CALLERS ? start_callers(builder)
						     : start_callees(builder);
	if (err)
		return err;
	/* Level by level: nodes are appended while the loop runs. */
	for (uint32_t i = 0; i < builder->grown.length; i++) {
		err = grow_node(builder, i);
		if (err)
			return err;
	}
	return 0;
}

static int take_nodes(struct fragment_tree *ret, const struct builder *builder)
{
	ret->nodes = calloc(builder->grown.length, sizeof(*ret->nodes));
	if (!ret->nodes)
		return -ENOMEM;
	ret->num_nodes = builder->grown.length;
	for (size_t i = 0; i < ret->num_nodes; i++)
		ret->nodes[i] = builder->grown.items[i].node;
	return 0;
}

static void tree_builder_release(struct builder *builder)
{
	occurrences_release(&builder->occurrences);
	free(builder->is_used);
	free(builder->weights);
	free(builder->by_name);
	free(builder->by_node);
	array_release(&builder->grown);
	array_release(&builder->items);
}

int fragment_tree_init(struct fragment_tree *ret, const struct frame_tree *tree,
		       const struct fragment *fragment, enum fragment_direction direction,
		       uint32_t metric, const struct selection *selection, size_t max_depth)
{
	_cleanup_(tree_builder_release) struct builder builder = {
		.tree = tree,
		.fragment = fragment,
		.direction = direction,
		.max_depth = max_depth,
		.free_items = NO_ITEM,
	};
	int err = grow(&builder, metric, selection);

	*ret = (struct fragment_tree){0};
	if (err)
		return err;
	return take_nodes(ret, &builder);
}

void fragment_tree_release(struct fragment_tree *tree)
{
	free(tree->nodes);
	*tree = (struct fragment_tree){0};
}
