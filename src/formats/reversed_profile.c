#include "formats/reversed_profile.h"

#include <errno.h>

struct reverser {
	const struct call_tree *tree;
	struct profile *to;
	bool is_compared;
	uint32_t thread;
	uint32_t metric;
	uint32_t baseline;
};

static int add_level(struct reverser *reverser, uint32_t node, uint32_t *stack)
{
	struct frame frame = {0};
	uint32_t location;
	size_t length;
	const char *label = call_tree_get_label(reverser->tree, node, &length);
	int err = string_table_add(profile_get_strings(reverser->to), label, length, &frame.name);

	frame.full_name = frame.name;
	if (!err)
		err = profile_add_frame_location(reverser->to, &frame, &location);
	return err ? err : profile_add_stack(reverser->to, *stack, location, stack);
}

static int add_stack(struct reverser *reverser, uint32_t leaf)
{
	uint32_t stack = STACK_EMPTY;
	int err = 0;

	for (uint32_t node = leaf; !err && node != CALL_TREE_ROOT;
	     node = call_tree_get_parent(reverser->tree, node))
		err = add_level(reverser, node, &stack);
	if (!err)
		err = profile_add_sample(reverser->to, reverser->thread, stack, reverser->metric,
					 call_tree_get_self(reverser->tree, leaf));
	if (!err && reverser->is_compared)
		err = profile_add_sample(reverser->to, reverser->thread, stack, reverser->baseline,
					 call_tree_get_baseline(reverser->tree, leaf));
	return err;
}

/* A thread that gives no level of its own. */
static int add_thread(struct reverser *reverser)
{
	struct thread thread = {0};
	int err = profile_add_process(reverser->to, 0, STRING_EMPTY, &thread.process);

	if (!err)
		err = profile_add_thread(reverser->to, &thread, &reverser->thread);
	if (!err)
		err = profile_add_metric(reverser->to, METRIC_AFTER, "", &reverser->metric);
	if (!err)
		err = profile_add_metric(reverser->to, METRIC_BEFORE, "", &reverser->baseline);
	return err;
}

static int reverse(struct reverser *reverser)
{
	int err = add_thread(reverser);

	for (uint32_t node = 0; !err && node < call_tree_get_count(reverser->tree); node++)
		if (call_tree_has_samples(reverser->tree, node))
			err = add_stack(reverser, node);
	return err;
}

int reversed_profile_new(const struct profile *profile, const struct call_tree_opts *opts,
			 struct profile **ret, struct call_tree_opts *ret_opts)
{
	_cleanup_(profile_freep) struct profile *reversed = profile_new();
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	struct reverser reverser = {.to = reversed, .is_compared = opts->has_baseline};
	int err = reversed ? call_tree_new(profile, opts, &tree) : -ENOMEM;

	if (err)
		return err;
	reverser.tree = tree;
	err = reverse(&reverser);
	if (err)
		return err;
	*ret = return_ptr(reversed);
	*ret_opts = (struct call_tree_opts){
		.root = TREE_ROOT_NONE,
		.metric = reverser.metric,
		.has_baseline = opts->has_baseline,
		.baseline = reverser.baseline,
	};
	return 0;
}
