/*
 * A tree is made in three steps: the end node of every sample; the weights, summed from the leaves
 * to the root; the lists of children.
 *
 * The profile's stacks are such a tree already if every location has one frame, no two locations
 * have the same label, and no thread has a level of its own. This is the case for all profiles read
 * from folded text. Then nothing is copied, and nodes have the ids of stacks. Otherwise the nodes
 * are a second table of stacks, whose levels are labels.
 *
 * Only totals are kept: a node's own weight is its total without its children's. This is correct in
 * arithmetic that wraps, too.
 */
#include "analysis/call_tree.h"

#include <endian.h>
#include <errno.h>

#include "analysis/frame_labels.h"
#include "analysis/stack_paths.h"
#include "base/array.h"

#define WORD_BITS 64

struct links {
	uint32_t first_child; /* in order of labels; CALL_TREE_NONE */
	uint32_t next_sibling;
};

struct location_label {
	const char *text; /* borrowed from the labels */
	uint32_t length;
	uint32_t id;
};

struct call_tree {
	const struct profile *profile;
	struct frame_labels labels;
	struct stack_table *nodes;              /* NULL: the stacks of the profile are the nodes */
	const struct stack_node *stacks;        /* by node */
	struct location_label *location_labels; /* by location, which their levels are */
	uint32_t *sample_nodes; /* by sample, if kept and not the stacks of the profile */
	uint32_t count;
	uint8_t *kinds;      /* by label; NULL: not kept */
	struct links *links; /* by node, as all below */
	uint64_t *totals;
	uint64_t *baseline_totals; /* NULL: no baseline */
	uint64_t *has_samples;     /* one bit per node */
	bool is_overflown;
};

static bool has_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / WORD_BITS] >> (i % WORD_BITS) & 1;
}

static void set_bit(uint64_t *bits, uint32_t i)
{
	bits[i / WORD_BITS] |= 1ull << (i % WORD_BITS);
}

static uint64_t *allocate_bits(uint32_t count)
{
	return calloc((size_t)count / WORD_BITS + 1, sizeof(uint64_t));
}

/* State while nodes are made. */
struct call_tree_builder {
	struct call_tree *tree;
	const struct profile *profile;
	struct call_tree_opts opts;
	uint32_t *sample_nodes; /* by sample; NULL: the sample's stack */
	struct text label;
};

static int add_unknown_label(struct call_tree *tree, uint32_t *ret)
{
	return frame_labels_add_text(&tree->labels, UNKNOWN_NAME, strlen(UNKNOWN_NAME), ret);
}

static int add_thread(void *context, uint32_t thread, uint32_t *node)
{
	struct call_tree_builder *builder = context;
	struct text *name = &builder->label;
	uint32_t label;
	int err;

	if (!thread_has_label(builder->profile, thread, builder->opts.root))
		return 0;
	text_truncate(name, 0);
	thread_label_append(builder->profile, thread, builder->opts.root, name);
	if (name->failed)
		return -ENOMEM;
	err = frame_labels_add_text(&builder->tree->labels, name->data, name->length, &label);
	return err ? err : stack_table_add(builder->tree->nodes, *node, label, node);
}

/* The frame of a truncated stack is an annotation, too. */
static bool is_left_out(const struct call_tree_builder *builder, uint32_t location)
{
	return builder->opts.no_annotations &&
	       profile_is_truncated_frame(builder->profile, location);
}

/* Add the levels of one location: the function, then the calls inlined into it. */
static int add_location(void *context, uint32_t location_id, uint32_t *node)
{
	struct call_tree_builder *builder = context;
	const struct location *location = profile_get_location(builder->profile, location_id);
	struct call_tree *tree = builder->tree;
	uint32_t label;
	int err;

	if (is_left_out(builder, location_id))
		return 0;
	if (!location->num_frames) { /* not symbolized */
		err = add_unknown_label(tree, &label);
		if (err)
			return err;
		return stack_table_add(tree->nodes, *node, label, node);
	}
	for (uint32_t i = location->num_frames; i-- > 0;) {
		err = frame_labels_add_frame(&tree->labels, location->first_frame + i, &label);
		if (err)
			return err;
		err = stack_table_add(tree->nodes, *node, label, node);
		if (err)
			return err;
	}
	return 0;
}

/* Samples of other metrics make no nodes: the tree of a minor metric would contain all stacks. */
static bool is_shown(const void *context, const struct sample *sample)
{
	const struct call_tree_builder *builder = context;

	return sample->metric == builder->opts.metric ||
	       (builder->opts.has_baseline && sample->metric == builder->opts.baseline);
}

/* A stack without visible frames keeps its weight: the root itself is no line of folded text. */
static int name_empty_stacks(struct call_tree_builder *builder)
{
	uint32_t label;
	int err = add_unknown_label(builder->tree, &label);

	if (err)
		return err;
	for (uint32_t i = 0; i < profile_count_samples(builder->profile); i++) {
		const struct sample *sample = profile_get_sample(builder->profile, i);
		uint32_t *node = &builder->sample_nodes[i];

		if (*node != CALL_TREE_ROOT || sample->stack == STACK_EMPTY ||
		    !is_shown(builder, sample))
			continue;
		err = stack_table_add(builder->tree->nodes, CALL_TREE_ROOT, label, node);
		if (err)
			return err;
	}
	return 0;
}

static int make_nodes(struct call_tree_builder *builder)
{
	const struct stack_paths_steps steps = {
		.takes = is_shown,
		.add_thread = add_thread,
		.add_location = add_location,
		.context = builder,
	};
	int err;

	builder->tree->nodes = stack_table_new();
	if (!builder->tree->nodes)
		return -ENOMEM;
	err = stack_paths_find(builder->profile, &steps, &builder->sample_nodes);
	if (err)
		return err;
	if (builder->opts.no_annotations) {
		err = name_empty_stacks(builder);
		if (err)
			return err;
	}
	/* Nodes are only read from now on. */
	stack_table_trim(builder->tree->nodes);
	return 0;
}

static bool has_thread_levels(const struct call_tree_builder *builder)
{
	for (uint32_t i = 0; i < profile_count_threads(builder->profile); i++)
		if (thread_has_label(builder->profile, i, builder->opts.root))
			return true;
	return false;
}

/*
 * Give every location its label. *ret: whether each has a label of its own; if not, some may have
 * no label. Stops at the first location that shows that the profile is no tree of labels.
 */
static int label_locations(struct call_tree_builder *builder, bool *ret)
{
	struct call_tree *tree = builder->tree;
	const struct profile *profile = tree->profile;
	uint32_t count = profile_count_locations(profile);
	uint32_t max_labels = profile_count_strings(profile) + profile_count_frames(profile);
	_cleanup_free_ uint64_t *seen = allocate_bits(max_labels);

	*ret = false;
	tree->location_labels = calloc(count ? count : 1, sizeof(*tree->location_labels));
	if (!tree->location_labels || !seen)
		return -ENOMEM;
	tree->location_labels[0].text = ""; /* the root's, if there is no location */
	for (uint32_t i = 0; i < count; i++) {
		const struct location *location = profile_get_location(profile, i);
		struct location_label *label = &tree->location_labels[i];
		size_t length;
		int err;

		if (location->num_frames != 1 || is_left_out(builder, i))
			return 0;
		err = frame_labels_add_frame(&tree->labels, location->first_frame, &label->id);
		if (err)
			return err;
		if (has_bit(seen, label->id))
			return 0;
		set_bit(seen, label->id);
		label->text = frame_labels_get(&tree->labels, label->id, &length);
		if (length > UINT32_MAX)
			return 0;
		label->length = (uint32_t)length;
	}
	*ret = true;
	return 0;
}

/* Use the profile's nodes, or make new ones. */
static int find_nodes(struct call_tree_builder *builder)
{
	struct call_tree *tree = builder->tree;
	bool is_tree = false;
	int err;

	if (!has_thread_levels(builder)) {
		err = label_locations(builder, &is_tree);
		if (err)
			return err;
	}
	if (is_tree) {
		tree->count = profile_count_stacks(builder->profile);
		tree->stacks = profile_get_stacks(builder->profile);
		return 0;
	}
	err = make_nodes(builder);
	if (err)
		return err;
	tree->count = stack_table_get_count(tree->nodes);
	tree->stacks = stack_table_get_nodes(tree->nodes);
	return 0;
}

/* Add samples to nodes; at this point totals are the nodes' own weights. */
static int add_weights(struct call_tree_builder *builder)
{
	struct call_tree *tree = builder->tree;

	tree->totals = calloc(tree->count, sizeof(*tree->totals));
	tree->has_samples = allocate_bits(tree->count);
	if (builder->opts.has_baseline)
		tree->baseline_totals = calloc(tree->count, sizeof(*tree->baseline_totals));
	if (!tree->totals || !tree->has_samples ||
	    (builder->opts.has_baseline && !tree->baseline_totals))
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_samples(builder->profile); i++) {
		const struct sample *sample = profile_get_sample(builder->profile, i);
		uint32_t node = builder->sample_nodes ? builder->sample_nodes[i] : sample->stack;

		if (!is_shown(builder, sample))
			continue;
		set_bit(tree->has_samples, node);
		if (sample->metric == builder->opts.metric &&
		    __builtin_add_overflow(tree->totals[node], sample->value, &tree->totals[node]))
			return -EOVERFLOW;
		if (builder->opts.has_baseline && sample->metric == builder->opts.baseline &&
		    __builtin_add_overflow(tree->baseline_totals[node], sample->value,
					   &tree->baseline_totals[node]))
			return -EOVERFLOW;
	}
	return 0;
}

static uint32_t get_label_id(const struct call_tree *tree, uint32_t node)
{
	uint32_t level = tree->stacks[node].level;

	return tree->nodes ? level : tree->location_labels[level].id;
}

/* ---- children in order --------------------------------------------------------------------- */

/* State while children are put in order of their labels. */
struct call_tree_sorter {
	struct call_tree *tree;
	uint64_t *keys;     /* by level: the first bytes of the label, as a number in their order */
	uint64_t *unsorted; /* a bit for every node whose children are not in order */
};

static uint64_t make_key(const char *label, size_t length)
{
	uint64_t key = 0;

	memcpy(&key, label, length < sizeof(key) ? length : sizeof(key));
	return be64toh(key);
}

/* Most labels differ in their first bytes: the others are compared where they are. */
static int make_keys(struct call_tree_sorter *sorter)
{
	const struct call_tree *tree = sorter->tree;
	uint32_t count = tree->nodes ? frame_labels_get_count(&tree->labels)
				     : profile_count_locations(tree->profile);

	sorter->keys = calloc((size_t)count + 1, sizeof(*sorter->keys));
	if (!sorter->keys)
		return -ENOMEM;
	for (uint32_t level = 0; level < count; level++) {
		uint32_t id = tree->nodes ? level : tree->location_labels[level].id;
		size_t length;
		const char *label = frame_labels_get(&tree->labels, id, &length);

		sorter->keys[level] = make_key(label, length);
	}
	return 0;
}

static bool is_before(const struct call_tree_sorter *sorter, uint32_t a, uint32_t b)
{
	const struct call_tree *tree = sorter->tree;
	uint64_t key_a = sorter->keys[tree->stacks[a].level];
	uint64_t key_b = sorter->keys[tree->stacks[b].level];
	const char *label_a;
	const char *label_b;
	size_t length_a;
	size_t length_b;
	int order;

	if (key_a != key_b)
		return key_a < key_b;
	label_a = call_tree_get_label(tree, a, &length_a);
	label_b = call_tree_get_label(tree, b, &length_b);
	order = memcmp(label_a, label_b, length_a < length_b ? length_a : length_b);
	return order ? order < 0 : length_a < length_b;
}

/* Take the siblings at the start of a list that are in order. */
static uint32_t take_run(const struct call_tree_sorter *sorter, uint32_t *list)
{
	struct links *links = sorter->tree->links;
	uint32_t first = *list;
	uint32_t last = first;
	uint32_t next;

	if (first == CALL_TREE_NONE)
		return first;
	while ((next = links[last].next_sibling) != CALL_TREE_NONE && is_before(sorter, last, next))
		last = next;
	links[last].next_sibling = CALL_TREE_NONE;
	*list = next;
	return first;
}

/* Put two lists that are in order into one, behind *link. Returns its end. */
static uint32_t *merge_runs(const struct call_tree_sorter *sorter, uint32_t a, uint32_t b,
			    uint32_t *link)
{
	struct links *links = sorter->tree->links;

	while (a != CALL_TREE_NONE && b != CALL_TREE_NONE) {
		uint32_t *first = is_before(sorter, b, a) ? &b : &a;

		*link = *first;
		link = &links[*first].next_sibling;
		*first = *link;
	}
	*link = a != CALL_TREE_NONE ? a : b;
	while (*link != CALL_TREE_NONE)
		link = &links[*link].next_sibling;
	return link;
}

/* Each of several sorted inputs has left a run or more: runs are merged in pairs. */
static void sort_children(const struct call_tree_sorter *sorter, uint32_t node)
{
	uint32_t *first = &sorter->tree->links[node].first_child;
	size_t num_merges;

	do {
		uint32_t rest = *first;
		uint32_t *link = first;

		for (num_merges = 0; rest != CALL_TREE_NONE; num_merges++) {
			uint32_t a = take_run(sorter, &rest);
			uint32_t b = take_run(sorter, &rest);

			link = merge_runs(sorter, a, b, link);
		}
	} while (num_merges > 1);
}

/*
 * Add up totals and put every node of the tree into its caller's list. Callers have smaller ids. So
 * when going down by ids, a node's total is complete when it is reached, and its list has its later
 * siblings already.
 */
static void link_nodes(const struct call_tree_sorter *sorter)
{
	struct call_tree *tree = sorter->tree;
	struct links *links = tree->links;

	for (uint32_t node = tree->count; node-- > CALL_TREE_ROOT + 1;) {
		uint32_t caller = tree->stacks[node].parent;
		uint32_t next = links[caller].first_child;

		if (!has_bit(tree->has_samples, node) && !links[node].first_child)
			continue;
		links[node].next_sibling = next;
		links[caller].first_child = node;
		tree->is_overflown |= __builtin_add_overflow(
			tree->totals[caller], tree->totals[node], &tree->totals[caller]);
		if (tree->baseline_totals)
			tree->is_overflown |= __builtin_add_overflow(
				tree->baseline_totals[caller], tree->baseline_totals[node],
				&tree->baseline_totals[caller]);
		if (next != CALL_TREE_NONE && !has_bit(sorter->unsorted, caller) &&
		    is_before(sorter, next, node))
			set_bit(sorter->unsorted, caller);
	}
}

static void call_tree_sorter_release(struct call_tree_sorter *sorter)
{
	free(sorter->keys);
	free(sorter->unsorted);
}

static int link_children(struct call_tree *tree)
{
	_cleanup_(call_tree_sorter_release) struct call_tree_sorter sorter = {
		.tree = tree,
		.unsorted = allocate_bits(tree->count),
	};
	int err;

	tree->links = calloc(tree->count, sizeof(*tree->links));
	if (!tree->links || !sorter.unsorted)
		return -ENOMEM;
	err = make_keys(&sorter);
	if (err)
		return err;
	link_nodes(&sorter);
	for (uint32_t node = 0; node < tree->count; node++)
		if (has_bit(sorter.unsorted, node))
			sort_children(&sorter, node);
	return 0;
}

static int fill_tree(struct call_tree_builder *builder)
{
	int err = frame_labels_init(&builder->tree->labels, builder->profile,
				    builder->opts.no_annotations);

	if (err)
		return err;
	err = find_nodes(builder);
	if (err)
		return err;
	return add_weights(builder);
}

int call_tree_new(const struct profile *profile, const struct call_tree_opts *opts,
		  struct call_tree **ret)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = calloc(1, sizeof(*tree));
	struct call_tree_builder builder = {.profile = profile, .tree = tree};
	int err;

	if (!tree)
		return -ENOMEM;
	if (opts)
		builder.opts = *opts;
	tree->profile = profile;
	err = fill_tree(&builder);
	text_release(&builder.label);
	if (builder.opts.keeps_samples)
		tree->sample_nodes = builder.sample_nodes;
	else
		free(builder.sample_nodes);
	if (err)
		return err;
	if (builder.opts.keeps_kinds) {
		err = frame_labels_find_kinds(&tree->labels, &tree->kinds);
		if (err)
			return err;
	}
	err = link_children(tree);
	if (err)
		return err;
	*ret = return_ptr(tree);
	return 0;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	frame_labels_release(&tree->labels);
	stack_table_free(tree->nodes);
	free(tree->location_labels);
	free(tree->sample_nodes);
	free(tree->kinds);
	free(tree->links);
	free(tree->totals);
	free(tree->baseline_totals);
	free(tree->has_samples);
	free(tree);
}

uint32_t call_tree_get_count(const struct call_tree *tree)
{
	return tree->count;
}

uint32_t call_tree_get_parent(const struct call_tree *tree, uint32_t node)
{
	return tree->stacks[node].parent;
}

const char *call_tree_get_label(const struct call_tree *tree, uint32_t node, size_t *ret_length)
{
	uint32_t level = tree->stacks[node].level;

	if (tree->nodes)
		return frame_labels_get(&tree->labels, level, ret_length);
	*ret_length = tree->location_labels[level].length;
	return tree->location_labels[level].text;
}

uint8_t call_tree_get_kind(const struct call_tree *tree, uint32_t node)
{
	return tree->kinds[get_label_id(tree, node)];
}

uint32_t call_tree_get_first_child(const struct call_tree *tree, uint32_t node)
{
	return tree->links[node].first_child;
}

uint32_t call_tree_get_next_sibling(const struct call_tree *tree, uint32_t node)
{
	return tree->links[node].next_sibling;
}

/* May wrap around on the way, but ends up right, as the totals do. */
static uint64_t subtract_children(const struct call_tree *tree, const uint64_t *totals,
				  uint32_t node)
{
	uint64_t self = totals[node];

	for (uint32_t child = tree->links[node].first_child; child != CALL_TREE_NONE;
	     child = tree->links[child].next_sibling)
		self -= totals[child];
	return self;
}

/* A node without samples has no weight of its own, so its children need not be visited. */
uint64_t call_tree_get_self(const struct call_tree *tree, uint32_t node)
{
	return has_bit(tree->has_samples, node) ? subtract_children(tree, tree->totals, node) : 0;
}

uint64_t call_tree_get_baseline(const struct call_tree *tree, uint32_t node)
{
	return tree->baseline_totals && has_bit(tree->has_samples, node)
		       ? subtract_children(tree, tree->baseline_totals, node)
		       : 0;
}

uint64_t call_tree_get_total(const struct call_tree *tree, uint32_t node)
{
	return tree->totals[node];
}

uint64_t call_tree_get_baseline_total(const struct call_tree *tree, uint32_t node)
{
	return tree->baseline_totals ? tree->baseline_totals[node] : 0;
}

bool call_tree_has_overflown_total(const struct call_tree *tree)
{
	return tree->is_overflown;
}

uint32_t call_tree_get_sample_node(const struct call_tree *tree, uint32_t sample)
{
	return tree->sample_nodes ? tree->sample_nodes[sample]
				  : profile_get_sample(tree->profile, sample)->stack;
}

bool call_tree_has_samples(const struct call_tree *tree, uint32_t node)
{
	return has_bit(tree->has_samples, node);
}
