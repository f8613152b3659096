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

static int add_level(struct tree_profile_builder *maker, uint32_t node, uint32_t *stack)
{
	struct frame frame = {0};
	uint32_t location;
	size_t length;
	const char *label = call_tree_get_label(maker->tree, node, &length);
	int err = 0;

	if (!maker->opts->tree.no_annotations)
		err = reader_strip_annotation(maker->to, label, &length, &frame);
	if (!err)
		err = string_table_add(profile_get_strings(maker->to), label, length, &frame.name);
	frame.full_name = frame.name;
	if (!err)
		err = profile_add_frame_location(maker->to, &frame, &location);
	return err ? err : profile_add_stack(maker->to, *stack, location, stack);
}

static int add_stack(struct tree_profile_builder *maker, uint32_t leaf)
{
	uint32_t stack = STACK_EMPTY;
	int err = 0;

	for (uint32_t node = leaf; !err && node != CALL_TREE_ROOT;
	     node = call_tree_get_parent(maker->tree, node))
		err = add_level(maker, node, &stack);
	if (!err && maker->opts->tree.has_baseline)
		err = profile_add_sample(maker->to, maker->thread, stack, maker->baseline,
					 call_tree_get_baseline(maker->tree, leaf));
	return err ? err
		   : profile_add_sample(maker->to, maker->thread, stack, maker->metric,
					call_tree_get_self(maker->tree, leaf));
}

static int add_thread_and_metrics(struct tree_profile_builder *maker)
{
	struct thread thread = {0};
	int err = profile_add_process(maker->to, 0, STRING_EMPTY, &thread.process);

	if (!err)
		err = profile_add_thread(maker->to, &thread, &maker->thread);
	if (!err && maker->opts->tree.has_baseline)
		err = profile_add_metric(maker->to, METRIC_BEFORE, maker->opts->unit,
					 &maker->baseline);
	return err ? err
		   : profile_add_metric(maker->to, METRIC_AFTER, maker->opts->unit, &maker->metric);
}

int tree_profile_new(const struct call_tree *tree, const struct tree_profile_opts *opts,
		     struct profile **ret, struct call_tree_opts *ret_opts)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct tree_profile_builder maker = {.tree = tree, .opts = opts, .to = profile};
	int err = profile ? add_thread_and_metrics(&maker) : -ENOMEM;

	for (uint32_t node = 0; !err && node < call_tree_get_count(tree); node++)
		if (call_tree_has_samples(tree, node))
			err = add_stack(&maker, node);
	if (err)
		return err;
	*ret = return_ptr(profile);
	*ret_opts = (struct call_tree_opts){
		.root = TREE_ROOT_NONE,
		.no_annotations = opts->tree.no_annotations,
		.metric = maker.metric,
		.has_baseline = opts->tree.has_baseline,
		.baseline = maker.baseline,
	};
	return 0;
}
