#include "analysis/call_tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

#define UNKNOWN_LABEL "[unknown]"
#define NOT_MADE      UINT32_MAX

struct weight {
	uint64_t self;
	uint64_t baseline;
	uint64_t total; /* wraps when is_overflown */
	uint64_t baseline_total;
	uint32_t first_child; /* in order of labels; CALL_TREE_NONE */
	uint32_t next_sibling;
	bool has_samples;
};

struct call_tree {
	struct string_table *labels;
	struct stack_table *nodes;    /* levels are labels */
	ARRAY(struct weight) weights; /* by node */
	bool is_overflown;
};

struct child {
	const struct call_tree *tree;
	uint32_t node;
};

/* What is needed while the tree is made. */
struct maker {
	const struct profile *profile;
	struct call_tree_opts opts;
	struct call_tree *tree;
	ARRAY(uint32_t) path;         /* stacks from the innermost to the outermost */
	ARRAY(uint32_t) frame_labels; /* by frame of the profile; NOT_MADE */
	ARRAY(uint32_t) stack_nodes;  /* by stack, below the root level last used; NOT_MADE */
	uint32_t stack_nodes_root;
	struct text label;
};

/* `;` and line ends would break a folded line, whoever gave the name. */
static void append_name(struct text *label, const char *name, size_t length)
{
	size_t start = label->length;

	text_append(label, name, length);
	for (size_t i = start; !label->failed && i < label->length; i++) {
		if (label->data[i] == ';')
			label->data[i] = ':';
		else if (label->data[i] == '\n')
			label->data[i] = ' ';
	}
}

static const char *get_annotation(const struct frame *frame)
{
	if (frame->kind == FRAME_KERNEL)
		return "_[k]";
	if (frame->is_inlined)
		return "_[i]";
	if (frame->kind == FRAME_JIT)
		return "_[j]";
	return "";
}

static int make_frame_label(struct maker *maker, uint32_t id, uint32_t *ret)
{
	const struct frame *frame = profile_get_frame(maker->profile, id);
	uint32_t *known;
	int err;

	while (maker->frame_labels.length <= id) {
		known = array_add(&maker->frame_labels);
		if (!known)
			return -ENOMEM;
		*known = NOT_MADE;
	}
	known = &maker->frame_labels.items[id];
	if (*known == NOT_MADE) {
		text_truncate(&maker->label, 0);
		append_name(&maker->label, profile_get_string(maker->profile, frame->name),
			    profile_get_string_length(maker->profile, frame->name));
		if (!maker->opts.no_annotations)
			text_append_string(&maker->label, get_annotation(frame));
		if (maker->label.failed)
			return -ENOMEM;
		err = string_table_add(maker->tree->labels, maker->label.data, maker->label.length,
				       known);
		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

/* The node that stands for the sample's thread. */
static int make_root_node(struct maker *maker, uint32_t thread_id, uint32_t *ret)
{
	const struct thread *thread = profile_get_thread(maker->profile, thread_id);
	const struct process_info *process = profile_get_process(maker->profile, thread->process);
	uint32_t label;
	int err;

	*ret = STACK_EMPTY;
	if (maker->opts.root == TREE_ROOT_NONE ||
	    (thread->comm == STRING_EMPTY && !thread->tid && !process->pid))
		return 0;
	text_truncate(&maker->label, 0);
	append_name(&maker->label, profile_get_string(maker->profile, thread->comm),
		    profile_get_string_length(maker->profile, thread->comm));
	if (thread->comm == STRING_EMPTY)
		text_append_string(&maker->label, UNKNOWN_LABEL);
	if (maker->opts.root == TREE_ROOT_PID)
		text_printf(&maker->label, "-%u", process->pid);
	if (maker->opts.root == TREE_ROOT_TID)
		text_printf(&maker->label, "-%u/%u", process->pid, thread->tid);
	if (maker->label.failed)
		return -ENOMEM;
	err = string_table_add(maker->tree->labels, maker->label.data, maker->label.length, &label);
	return err ? err : stack_table_add(maker->tree->nodes, STACK_EMPTY, label, ret);
}

/* The levels of one location: the function, then what was inlined into it. */
static int add_location(struct maker *maker, uint32_t location_id, uint32_t *node)
{
	const struct location *location = profile_get_location(maker->profile, location_id);
	uint32_t label;
	int err = 0;

	for (uint32_t i = location->num_frames; !err && i-- > 0;) {
		err = make_frame_label(maker, location->first_frame + i, &label);
		if (!err)
			err = stack_table_add(maker->tree->nodes, *node, label, node);
	}
	if (!location->num_frames) { /* not symbolized */
		err = string_table_add(maker->tree->labels, UNKNOWN_LABEL, strlen(UNKNOWN_LABEL),
				       &label);
		if (!err)
			err = stack_table_add(maker->tree->nodes, *node, label, node);
	}
	return err;
}

static int forget_stack_nodes(struct maker *maker, uint32_t root)
{
	uint32_t count = profile_count_stacks(maker->profile);

	if (array_reserve(&maker->stack_nodes, count))
		return -ENOMEM;
	maker->stack_nodes.length = count;
	for (uint32_t i = 0; i < count; i++)
		maker->stack_nodes.items[i] = NOT_MADE;
	maker->stack_nodes.items[STACK_EMPTY] = root;
	maker->stack_nodes_root = root;
	return 0;
}

/* The node of a stack; the part of it that is known already is not walked again. */
static int add_stack(struct maker *maker, uint32_t root, uint32_t stack, uint32_t *ret)
{
	uint32_t node;

	int err = maker->stack_nodes_root != root ? forget_stack_nodes(maker, root) : 0;

	if (err)
		return err;
	maker->path.length = 0;
	while (maker->stack_nodes.items[stack] == NOT_MADE) {
		uint32_t *level = array_add(&maker->path);

		if (!level)
			return -ENOMEM;
		*level = stack;
		stack = profile_get_stack_parent(maker->profile, stack);
	}
	node = maker->stack_nodes.items[stack];
	while (maker->path.length) {
		stack = maker->path.items[--maker->path.length];
		err = add_location(maker, profile_get_stack_location(maker->profile, stack), &node);
		if (err)
			return err;
		maker->stack_nodes.items[stack] = node;
	}
	*ret = node;
	return 0;
}

static int add_weight(struct maker *maker, uint32_t node, const struct sample *sample)
{
	struct call_tree *tree = maker->tree;
	struct weight *weight;

	while (tree->weights.length <= node)
		if (!array_add(&tree->weights))
			return -ENOMEM;
	weight = &tree->weights.items[node];
	weight->has_samples = true;
	if (sample->metric == maker->opts.metric &&
	    __builtin_add_overflow(weight->self, sample->value, &weight->self))
		return -EOVERFLOW;
	if (maker->opts.has_baseline && sample->metric == maker->opts.baseline &&
	    __builtin_add_overflow(weight->baseline, sample->value, &weight->baseline))
		return -EOVERFLOW;
	return 0;
}

static bool is_wanted(const struct maker *maker, const struct sample *sample)
{
	return sample->metric == maker->opts.metric ||
	       (maker->opts.has_baseline && sample->metric == maker->opts.baseline);
}

struct by_thread {
	uint32_t thread;
	uint32_t sample;
};

static int compare_by_thread(const void *a, const void *b)
{
	const struct by_thread *x = a;
	const struct by_thread *y = b;

	return x->thread != y->thread ? (x->thread < y->thread ? -1 : 1)
				      : (x->sample > y->sample) - (x->sample < y->sample);
}

/* Samples of one thread after the other, so that its stacks are known when they come again. */
static int add_samples(struct maker *maker)
{
	uint32_t count = profile_count_samples(maker->profile);
	_cleanup_free_ struct by_thread *order = calloc(count ? count : 1, sizeof(*order));
	int err = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < count; i++)
		order[i] = (struct by_thread){profile_get_sample(maker->profile, i)->thread, i};
	if (!err)
		qsort(order, count, sizeof(*order), compare_by_thread);
	for (uint32_t i = 0; !err && i < count; i++) {
		const struct sample *sample = profile_get_sample(maker->profile, order[i].sample);
		uint32_t root;
		uint32_t node;

		if (!is_wanted(maker, sample))
			continue;
		err = make_root_node(maker, sample->thread, &root);
		if (!err)
			err = add_stack(maker, root, sample->stack, &node);
		if (!err)
			err = add_weight(maker, node, sample);
	}
	return err;
}

static bool add_checked(uint64_t *sum, uint64_t weight)
{
	return __builtin_add_overflow(*sum, weight, sum);
}

/* Add every node's weight to its caller's total; callers have the smaller ids. */
static int add_totals(struct call_tree *tree)
{
	uint32_t count = stack_table_get_count(tree->nodes);
	struct weight *weights;

	while (tree->weights.length < count)
		if (!array_add(&tree->weights))
			return -ENOMEM;
	weights = tree->weights.items;
	for (uint32_t node = count; node-- > 0;) {
		struct weight *weight = &weights[node];
		struct weight *caller = &weights[stack_table_get_parent(tree->nodes, node)];

		tree->is_overflown |= add_checked(&weight->total, weight->self);
		tree->is_overflown |= add_checked(&weight->baseline_total, weight->baseline);
		if (node == CALL_TREE_ROOT)
			break;
		tree->is_overflown |= add_checked(&caller->total, weight->total);
		tree->is_overflown |= add_checked(&caller->baseline_total, weight->baseline_total);
	}
	return 0;
}

static int compare_labels(const void *left, const void *right)
{
	const struct child *a = left;
	const struct child *b = right;
	size_t length_a;
	size_t length_b;
	const char *label_a = call_tree_get_label(a->tree, a->node, &length_a);
	const char *label_b = call_tree_get_label(b->tree, b->node, &length_b);
	int order = memcmp(label_a, label_b, length_a < length_b ? length_a : length_b);

	return order ? order : (length_a > length_b) - (length_a < length_b);
}

/* Put the nodes that belong to the tree into their callers' lists. */
static void link_children(struct call_tree *tree)
{
	struct weight *weights = tree->weights.items;

	for (uint32_t node = (uint32_t)tree->weights.length; node-- > 1;) {
		struct weight *caller = &weights[stack_table_get_parent(tree->nodes, node)];

		if (!weights[node].has_samples && !weights[node].first_child)
			continue;
		weights[node].next_sibling = caller->first_child;
		caller->first_child = node;
	}
}

static int sort_children(struct call_tree *tree)
{
	struct weight *weights = tree->weights.items;
	ARRAY(struct child) children = {0};

	for (uint32_t node = 0; node < tree->weights.length; node++) {
		uint32_t *link = &weights[node].first_child;

		children.length = 0;
		for (uint32_t child = *link; child; child = weights[child].next_sibling) {
			struct child *added = array_add(&children);

			if (!added) {
				array_release(&children);
				return -ENOMEM;
			}
			*added = (struct child){tree, child};
		}
		if (children.length < 2)
			continue;
		qsort(children.items, children.length, sizeof(struct child), compare_labels);
		array_for_each (&children, child) {
			*link = child->node;
			link = &weights[child->node].next_sibling;
		}
		*link = CALL_TREE_NONE;
	}
	array_release(&children);
	return 0;
}

int call_tree_new(const struct profile *profile, const struct call_tree_opts *opts,
		  struct call_tree **ret)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));
	struct maker maker = {.profile = profile, .tree = tree, .stack_nodes_root = NOT_MADE};
	int err = -ENOMEM;

	if (!tree)
		return -ENOMEM;
	if (opts)
		maker.opts = *opts;
	tree->labels = string_table_new();
	tree->nodes = stack_table_new();
	if (tree->labels && tree->nodes)
		err = add_samples(&maker);
	if (!err)
		err = add_totals(tree);
	if (!err) {
		link_children(tree);
		err = sort_children(tree);
	}
	array_release(&maker.path);
	array_release(&maker.frame_labels);
	array_release(&maker.stack_nodes);
	text_release(&maker.label);
	if (err) {
		call_tree_free(tree);
		return err;
	}
	*ret = tree;
	return 0;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	string_table_free(tree->labels);
	stack_table_free(tree->nodes);
	array_release(&tree->weights);
	free(tree);
}

uint32_t call_tree_get_count(const struct call_tree *tree)
{
	return stack_table_get_count(tree->nodes);
}

uint32_t call_tree_get_parent(const struct call_tree *tree, uint32_t node)
{
	return stack_table_get_parent(tree->nodes, node);
}

const char *call_tree_get_label(const struct call_tree *tree, uint32_t node, size_t *ret_length)
{
	uint32_t label = stack_table_get_level(tree->nodes, node);

	*ret_length = string_table_get_length(tree->labels, label);
	return string_table_get(tree->labels, label);
}

uint32_t call_tree_get_first_child(const struct call_tree *tree, uint32_t node)
{
	return tree->weights.items[node].first_child;
}

uint32_t call_tree_get_next_sibling(const struct call_tree *tree, uint32_t node)
{
	return tree->weights.items[node].next_sibling;
}

uint64_t call_tree_get_self(const struct call_tree *tree, uint32_t node)
{
	return tree->weights.items[node].self;
}

uint64_t call_tree_get_baseline(const struct call_tree *tree, uint32_t node)
{
	return tree->weights.items[node].baseline;
}

uint64_t call_tree_get_total(const struct call_tree *tree, uint32_t node)
{
	return tree->weights.items[node].total;
}

uint64_t call_tree_get_baseline_total(const struct call_tree *tree, uint32_t node)
{
	return tree->weights.items[node].baseline_total;
}

bool call_tree_has_overflown_total(const struct call_tree *tree)
{
	return tree->is_overflown;
}

bool call_tree_has_samples(const struct call_tree *tree, uint32_t node)
{
	return tree->weights.items[node].has_samples;
}
