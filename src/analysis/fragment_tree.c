/*
 * The trees of callers and callees.
 *
 * A node of the result stands for many nodes of the frame tree, its items. The result grows level
 * by level: the items of a node lead to the next nodes of the frame tree, down (callees) or up
 * (callers), and these become items of the child that has their name. Children are told apart by
 * an array by name, so there is no hashing, and an item is visited once.
 *
 * Going up, items meet again: different callees of one node. They are then one item with the sum
 * of their weights.
 */
#include <errno.h>
#include <string.h>

#include "analysis/fragment.h"
#include "base/array.h"

#define NO_ITEM UINT32_MAX

struct item {
	/* Callees: what the result's node stands for. Callers: what is called next, going up. */
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

struct grower {
	const struct frame_tree *tree;
	const struct fragment *fragment;
	enum fragment_direction direction;
	size_t max_depth;
	struct occurrences occurrences;
	bool *is_used;     /* by node of the frame tree: leads to a sample that counts */
	uint64_t *weights; /* by node: of these samples */
	uint32_t *by_name; /* the result's node that got this name last */
	uint32_t *by_node; /* callers: the item that got this node last */
	ARRAY(struct grown) grown;
	ARRAY(struct item) items;
	uint32_t free_items;
};

static int add_item(struct grower *grower, uint32_t owner, uint32_t node, uint64_t weight)
{
	uint32_t id = grower->free_items;
	struct item *item;

	if (grower->by_node) {
		uint32_t known = grower->by_node[node];

		if (known < grower->items.length && grower->items.items[known].owner == owner &&
		    grower->items.items[known].node == node) {
			grower->items.items[known].weight += weight;
			return 0;
		}
	}
	if (id != NO_ITEM) {
		item = &grower->items.items[id];
		grower->free_items = item->next;
	} else {
		id = (uint32_t)grower->items.length;
		item = id == NO_ITEM ? NULL : array_add(&grower->items);
		if (!item)
			return -ENOMEM;
	}
	*item = (struct item){node, owner, grower->grown.items[owner].items, weight};
	grower->grown.items[owner].items = id;
	if (grower->by_node)
		grower->by_node[node] = id;
	return 0;
}

/* Let the child of `parent` that has the name of a node of the frame tree stand for that, too. */
static int add_to_child(struct grower *grower, uint32_t parent, uint32_t node, uint64_t weight)
{
	const struct frame_tree *tree = grower->tree;
	uint32_t frame = tree->frames[node];
	uint32_t *child = &grower->by_name[frame_tree_get_name(tree, frame)];
	struct grown *grown;

	if (!*child || grower->grown.items[*child].node.parent != parent) {
		if (grower->grown.length == UINT32_MAX)
			return -ENOMEM;
		grown = array_add(&grower->grown);
		if (!grown)
			return -ENOMEM;
		*child = (uint32_t)(grower->grown.length - 1);
		grown->node = (struct fragment_node){.frame = frame, .parent = parent};
		grown->name = frame_tree_get_name_text(tree, frame, NULL);
		grown->items = NO_ITEM;
		grown->depth = grower->grown.items[parent].depth + 1;
	}
	grower->grown.items[*child].node.total += weight;
	if (grower->direction == FRAGMENT_CALLERS)
		node = tree->parents[node];
	return add_item(grower, *child, node, weight);
}

static int follow_item(struct grower *grower, uint32_t parent, const struct item *item)
{
	const struct frame_tree *tree = grower->tree;

	if (grower->direction == FRAGMENT_CALLERS)
		return item->node == FRAME_TREE_ROOT
			       ? 0
			       : add_to_child(grower, parent, item->node, item->weight);
	for (uint32_t node = tree->first_children[item->node]; node != FRAME_TREE_ROOT;
	     node = tree->next_siblings[node]) {
		int err;

		if (!grower->is_used[node] || grower->occurrences.is_end[node])
			continue;
		err = add_to_child(grower, parent, node, grower->weights[node]);
		if (err)
			return err;
	}
	return 0;
}

static int compare_grown(const void *left, const void *right)
{
	const struct grown *a = left;
	const struct grown *b = right;

	if (a->node.total != b->node.total)
		return a->node.total > b->node.total ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The children of a node stand behind each other: put them in order, and link them. */
static void link_children(struct grower *grower, uint32_t parent, size_t first)
{
	struct grown *grown = grower->grown.items;
	size_t count = grower->grown.length - first;
	uint64_t sum = 0;

	qsort(grown + first, count, sizeof(*grown), compare_grown);
	for (size_t i = first; i < first + count; i++) {
		sum += grown[i].node.total;
		if (i + 1 < first + count)
			grown[i].node.next_sibling = (uint32_t)(i + 1);
		for (uint32_t item = grown[i].items; item != NO_ITEM;
		     item = grower->items.items[item].next)
			grower->items.items[item].owner = (uint32_t)i;
	}
	grown[parent].node.first_child = count ? (uint32_t)first : 0;
	grown[parent].node.self = grown[parent].node.total - sum;
}

static int grow_node(struct grower *grower, uint32_t parent)
{
	size_t first = grower->grown.length;
	bool is_last = grower->max_depth && grower->grown.items[parent].depth >= grower->max_depth;
	uint32_t id = grower->grown.items[parent].items;

	while (id != NO_ITEM) {
		struct item item = grower->items.items[id];
		int err;

		/* A free item has no owner that by_node could be taken in by. */
		grower->items.items[id].owner = UINT32_MAX;
		grower->items.items[id].next = grower->free_items;
		grower->free_items = id;
		id = item.next;
		if (is_last)
			continue;
		err = follow_item(grower, parent, &item);
		if (err)
			return err;
	}
	link_children(grower, parent, first);
	return 0;
}

/*
 * Add up the samples that count, at their nodes or, for callers, where the first occurrence ends.
 */
static int add_samples(struct grower *grower, uint32_t metric, const struct selection *selection)
{
	const struct frame_tree *tree = grower->tree;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(tree->profile); i++) {
		const struct sample *sample = profile_get_sample(tree->profile, i);
		uint32_t node = tree->stack_nodes[sample->stack];
		uint32_t first_end = grower->occurrences.first_ends[node];

		if (sample->metric != metric || !selection_contains(selection, i))
			continue;
		if (grower->fragment->num_frames && first_end == FRAME_TREE_ROOT)
			continue;
		if (grower->fragment->num_frames && grower->direction == FRAGMENT_CALLERS)
			node = first_end;
		if (__builtin_add_overflow(sum, sample->value, &sum))
			return -EOVERFLOW;
		grower->is_used[node] = true;
		grower->weights[node] += sample->value;
	}
	grower->grown.items[0].node.total = sum;
	return 0;
}

/* What happens below a node belongs to it too, unless the fragment occurs there once more. */
static int start_callees(struct grower *grower)
{
	const struct frame_tree *tree = grower->tree;

	for (uint32_t node = tree->num_nodes; node-- > 1;) {
		if (!grower->is_used[node] || grower->occurrences.is_end[node])
			continue;
		grower->is_used[tree->parents[node]] = true;
		grower->weights[tree->parents[node]] += grower->weights[node];
	}
	if (!grower->fragment->num_frames)
		return add_item(grower, 0, FRAME_TREE_ROOT, 0);
	for (uint32_t node = 1; node < tree->num_nodes; node++) {
		int err;

		if (!grower->is_used[node] || !grower->occurrences.is_end[node])
			continue;
		err = add_item(grower, 0, node, 0);
		if (err)
			return err;
	}
	return 0;
}

static int start_callers(struct grower *grower)
{
	const struct frame_tree *tree = grower->tree;
	int err;

	for (uint32_t node = 0; node < tree->num_nodes; node++) {
		uint32_t caller = node;

		if (!grower->is_used[node])
			continue;
		for (size_t i = 0; i < grower->fragment->num_frames; i++)
			caller = tree->parents[caller];
		err = add_item(grower, 0, caller, grower->weights[node]);
		if (err)
			return err;
	}
	return 0;
}

static int allocate(struct grower *grower)
{
	const struct frame_tree *tree = grower->tree;
	struct grown *root = array_add(&grower->grown);

	grower->is_used = calloc(tree->num_nodes, sizeof(*grower->is_used));
	grower->weights = calloc(tree->num_nodes, sizeof(*grower->weights));
	grower->by_name = calloc(tree->num_names, sizeof(*grower->by_name));
	if (grower->direction == FRAGMENT_CALLERS)
		grower->by_node = calloc(tree->num_nodes, sizeof(*grower->by_node));
	if (!root || !grower->is_used || !grower->weights || !grower->by_name ||
	    (grower->direction == FRAGMENT_CALLERS && !grower->by_node))
		return -ENOMEM;
	root->node.frame = FRAME_NONE;
	root->items = NO_ITEM;
	return 0;
}

static int grow(struct grower *grower, uint32_t metric, const struct selection *selection)
{
	int err = allocate(grower);

	if (err)
		return err;
	err = occurrences_init(&grower->occurrences, grower->tree, grower->fragment);
	if (err)
		return err;
	err = add_samples(grower, metric, selection);
	if (err)
		return err;
	err = grower->direction == FRAGMENT_CALLERS ? start_callers(grower) : start_callees(grower);
	if (err)
		return err;
	for (uint32_t i = 0; i < grower->grown.length; i++) {
		err = grow_node(grower, i);
		if (err)
			return err;
	}
	return 0;
}

static int take_nodes(struct fragment_tree *ret, const struct grower *grower)
{
	ret->nodes = calloc(grower->grown.length, sizeof(*ret->nodes));
	if (!ret->nodes)
		return -ENOMEM;
	ret->num_nodes = grower->grown.length;
	for (size_t i = 0; i < ret->num_nodes; i++)
		ret->nodes[i] = grower->grown.items[i].node;
	return 0;
}

static void grower_release(struct grower *grower)
{
	occurrences_release(&grower->occurrences);
	free(grower->is_used);
	free(grower->weights);
	free(grower->by_name);
	free(grower->by_node);
	array_release(&grower->grown);
	array_release(&grower->items);
}

int fragment_tree_init(struct fragment_tree *ret, const struct frame_tree *tree,
		       const struct fragment *fragment, enum fragment_direction direction,
		       uint32_t metric, const struct selection *selection, size_t max_depth)
{
	_cleanup_(grower_release) struct grower grower = {
		.tree = tree,
		.fragment = fragment,
		.direction = direction,
		.max_depth = max_depth,
		.free_items = NO_ITEM,
	};
	int err = grow(&grower, metric, selection);

	*ret = (struct fragment_tree){0};
	if (err)
		return err;
	return take_nodes(ret, &grower);
}

void fragment_tree_release(struct fragment_tree *tree)
{
	free(tree->nodes);
	*tree = (struct fragment_tree){0};
}
