#include "formats/tree_profile.h"

#include <errno.h>

#include "formats/reader.h"

struct tree_profile_builder {
	const struct call_tree *tree;
	const struct tree_profile_opts *opts;
	struct profile *to;
	uint32_t thread;
	uint32_t metric;
	uint32_t baseline;
};

static int add_level(struct tree_profile_builder *builder, uint32_t node, uint32_t *stack)
{
	struct frame frame = {0};
	size_t length;
	const char *label = call_tree_get_label(builder->tree, node, &length);
	int err;

	if (!builder->opts->tree.no_annotations) {
		err = reader_strip_annotation(builder->to, label, &length, &frame);
		if (err)
			return err;
	}
	/* A kind that the label does not show. */
	if (builder->opts->tree.keeps_kinds && frame.kind == FRAME_USER && !frame.is_inlined)
		frame.kind = call_tree_get_kind(builder->tree, node);
	err = string_table_add(profile_get_strings(builder->to), label, length, &frame.name);
	frame.full_name = frame.name;
	if (err)
		return err;
	return profile_extend_stack(builder->to, &frame, stack);
}

/*
 * A walk from the leaf to the root gives the levels innermost first: added in that order, they are
 * the reversed stack.
 */
static int add_stack(struct tree_profile_builder *builder, uint32_t leaf)
{
	uint32_t stack = STACK_EMPTY;
	int err = 0;

	for (uint32_t node = leaf; node != CALL_TREE_ROOT;
	     node = call_tree_get_parent(builder->tree, node)) {
		err = add_level(builder, node, &stack);
		if (err)
			return err;
	}
	if (builder->opts->tree.has_baseline)
		err = profile_add_sample(builder->to, builder->thread, stack, builder->baseline,
					 call_tree_get_baseline(builder->tree, leaf));
	if (err)
		return err;
	return profile_add_sample(builder->to, builder->thread, stack, builder->metric,
				  call_tree_get_self(builder->tree, leaf));
}

static int add_thread_and_metrics(struct tree_profile_builder *builder)
{
	struct thread thread = {0};
	int err = profile_add_process(builder->to, 0, STRING_EMPTY, &thread.process);

	if (err)
		return err;
	err = profile_add_thread(builder->to, &thread, &builder->thread);
	if (err)
		return err;
	if (builder->opts->tree.has_baseline)
		err = profile_add_metric(builder->to, METRIC_BEFORE, builder->opts->unit,
					 &builder->baseline);
	if (err)
		return err;
	return profile_add_metric(builder->to, METRIC_AFTER, builder->opts->unit, &builder->metric);
}

int tree_profile_new(const struct call_tree *tree, const struct tree_profile_opts *opts,
		     struct profile **ret, struct call_tree_opts *ret_opts)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct tree_profile_builder builder = {.tree = tree, .opts = opts, .to = profile};
	int err = profile ? add_thread_and_metrics(&builder) : -ENOMEM;

	if (err)
		return err;
	for (uint32_t node = 0; node < call_tree_get_count(tree); node++) {
		if (call_tree_has_samples(tree, node)) {
			err = add_stack(&builder, node);
			if (err)
				return err;
		}
	}
	if (err)
		return err;
	*ret = return_ptr(profile);
	*ret_opts = (struct call_tree_opts){
		.root = TREE_ROOT_NONE,
		.no_annotations = opts->tree.no_annotations,
		.metric = builder.metric,
		.has_baseline = opts->tree.has_baseline,
		.baseline = builder.baseline,
		.keeps_kinds = opts->tree.keeps_kinds,
	};
	return 0;
}
