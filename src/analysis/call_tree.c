#include "analysis/call_tree.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

#define UNKNOWN_LABEL "[unknown]"
#define NOT_MADE      UINT32_MAX

struct call_tree {
	struct string_table *labels;
	struct stack_table *nodes; /* levels are labels */
	ARRAY(uint64_t) self;      /* by node; nodes beyond its length have none */
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

/*
 * Names come from foreign programs; `;` and line ends would break the folded line, so they
 * become `:` and space. Blanks at the edges would be lost when it is read again.
 */
static void append_name(struct text *label, const char *name, size_t length)
{
	size_t start = label->length;

	while (length && (unsigned char)name[0] <= ' ')
		name++, length--;
	while (length && (unsigned char)name[length - 1] <= ' ')
		length--;
	text_append(label, name, length);
	if (label->failed)
		return;
	for (size_t i = start; i < label->length; i++) {
		unsigned char c = (unsigned char)label->data[i];

		if (c == ';')
			label->data[i] = ':';
		else if (c < ' ' || c == 0x7f)
			label->data[i] = ' ';
	}
	if (label->length == start)
		text_append_string(label, UNKNOWN_LABEL);
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
			return -1;
		*known = NOT_MADE;
	}
	known = &maker->frame_labels.items[id];
	if (*known == NOT_MADE) {
		const char *name = profile_get_string(maker->profile, frame->name);

		text_truncate(&maker->label, 0);
		append_name(&maker->label, name, strlen(name));
		if (!maker->opts.no_annotations)
			text_append_string(&maker->label, get_annotation(frame));
		if (maker->label.failed)
			return -1;
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
	const char *comm = profile_get_string(maker->profile, thread->comm);
	uint32_t label;
	int err;

	*ret = STACK_EMPTY;
	if (maker->opts.root == TREE_ROOT_NONE)
		return 0;
	text_truncate(&maker->label, 0);
	append_name(&maker->label, comm, strlen(comm));
	if (maker->opts.root == TREE_ROOT_PID)
		text_printf(&maker->label, "-%u", process->pid);
	if (maker->opts.root == TREE_ROOT_TID)
		text_printf(&maker->label, "-%u/%u", process->pid, thread->tid);
	if (maker->label.failed)
		return -1;
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
		return -1;
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

	if (maker->stack_nodes_root != root && forget_stack_nodes(maker, root))
		return -1;
	maker->path.length = 0;
	while (maker->stack_nodes.items[stack] == NOT_MADE) {
		uint32_t *level = array_add(&maker->path);

		if (!level)
			return -1;
		*level = stack;
		stack = profile_get_stack_parent(maker->profile, stack);
	}
	node = maker->stack_nodes.items[stack];
	while (maker->path.length) {
		stack = maker->path.items[--maker->path.length];
		if (add_location(maker, profile_get_stack_location(maker->profile, stack), &node))
			return -1;
		maker->stack_nodes.items[stack] = node;
	}
	*ret = node;
	return 0;
}

static int add_weight(struct call_tree *tree, uint32_t node, uint64_t weight)
{
	while (tree->self.length <= node)
		if (!array_add(&tree->self))
			return -1;
	return __builtin_add_overflow(tree->self.items[node], weight, &tree->self.items[node]) ? -1
											       : 0;
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
	int err = order ? 0 : -1;

	for (uint32_t i = 0; !err && i < count; i++)
		order[i] = (struct by_thread){profile_get_sample(maker->profile, i)->thread, i};
	if (!err)
		qsort(order, count, sizeof(*order), compare_by_thread);
	for (uint32_t i = 0; !err && i < count; i++) {
		const struct sample *sample = profile_get_sample(maker->profile, order[i].sample);
		uint32_t root;
		uint32_t node;

		err = make_root_node(maker, sample->thread, &root);
		if (!err)
			err = add_stack(maker, root, sample->stack, &node);
		if (!err)
			err = add_weight(maker->tree, node, sample->value);
	}
	return err;
}

struct call_tree *call_tree_new(const struct profile *profile, const struct call_tree_opts *opts)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));
	struct maker maker = {.profile = profile, .tree = tree, .stack_nodes_root = NOT_MADE};
	int err = -1;

	if (!tree)
		return NULL;
	if (opts)
		maker.opts = *opts;
	tree->labels = string_table_new();
	tree->nodes = stack_table_new();
	if (tree->labels && tree->nodes)
		err = add_samples(&maker);
	array_release(&maker.path);
	array_release(&maker.frame_labels);
	array_release(&maker.stack_nodes);
	text_release(&maker.label);
	if (err) {
		call_tree_free(tree);
		return NULL;
	}
	return tree;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	string_table_free(tree->labels);
	stack_table_free(tree->nodes);
	array_release(&tree->self);
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

uint64_t call_tree_get_self(const struct call_tree *tree, uint32_t node)
{
	return node < tree->self.length ? tree->self.items[node] : 0;
}
