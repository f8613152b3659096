/*
 * A node for every frame of every stack of the profile's prefix tree: a location with inlined calls
 * is several nodes, one below the other. Stacks that differ only in addresses keep their own nodes;
 * queries join them by name.
 *
 * Parents get smaller numbers than their children, because a stack's id is greater than its
 * caller's. All passes over the tree rely on that: forwards, parents are first; backwards, children
 * are.
 */
#include "analysis/frame_tree.h"

#include <errno.h>
#include <string.h>

static uint32_t count_levels(const struct location *location)
{
	return location->num_frames ? location->num_frames : 1;
}

/*
 * Counted in 64 bits first: a hostile profile may have many stacks, each of a location with many
 * frames.
 */
static uint64_t count_nodes(const struct profile *profile)
{
	uint32_t count = profile_count_stacks(profile);
	uint64_t nodes = 1;

	for (uint32_t stack = 1; stack < count; stack++)
		nodes += count_levels(
			profile_get_location(profile, profile_get_stack_location(profile, stack)));
	return nodes;
}

static int allocate(struct frame_tree *tree)
{
	uint64_t count = count_nodes(tree->profile);

	if (count >= UINT32_MAX)
		return -ENOMEM;
	tree->num_nodes = (uint32_t)count;
	tree->parents = calloc(count, sizeof(*tree->parents));
	tree->frames = calloc(count, sizeof(*tree->frames));
	tree->first_children = calloc(count, sizeof(*tree->first_children));
	tree->next_siblings = calloc(count, sizeof(*tree->next_siblings));
	tree->stack_nodes = calloc(profile_count_stacks(tree->profile), sizeof(*tree->stack_nodes));
	return tree->parents && tree->frames && tree->first_children && tree->next_siblings &&
			       tree->stack_nodes
		       ? 0
		       : -ENOMEM;
}

/* Add the nodes of a stack's innermost location: the function, then the calls inlined into it. */
static uint32_t add_stack(struct frame_tree *tree, uint32_t stack, uint32_t node)
{
	const struct profile *profile = tree->profile;
	const struct location *location =
		profile_get_location(profile, profile_get_stack_location(profile, stack));
	uint32_t parent = tree->stack_nodes[profile_get_stack_parent(profile, stack)];

	for (uint32_t left = count_levels(location); left-- > 0; node++) {
		tree->parents[node] = parent;
		tree->frames[node] =
			location->num_frames ? location->first_frame + left : FRAME_NONE;
		parent = node;
	}
	tree->stack_nodes[stack] = parent;
	return node;
}

int frame_tree_init(struct frame_tree *tree, const struct profile *profile)
{
	uint32_t node = 1;
	int err;

	*tree = (struct frame_tree){.profile = profile};
	tree->num_names = profile_count_strings(profile);
	tree->unknown_name = profile_find_string(profile, UNKNOWN_NAME, strlen(UNKNOWN_NAME));
	if (tree->unknown_name == STRING_NONE)
		tree->unknown_name = tree->num_names++;
	err = allocate(tree);
	if (err)
		return err;
	tree->frames[FRAME_TREE_ROOT] = FRAME_NONE;
	for (uint32_t stack = 1; stack < profile_count_stacks(profile); stack++)
		node = add_stack(tree, stack, node);
	/* Backwards, adding each child in front: siblings end up in the order of their numbers. */
	for (node = tree->num_nodes; node-- > 1;) {
		tree->next_siblings[node] = tree->first_children[tree->parents[node]];
		tree->first_children[tree->parents[node]] = node;
	}
	return 0;
}

void frame_tree_release(struct frame_tree *tree)
{
	free(tree->parents);
	free(tree->frames);
	free(tree->first_children);
	free(tree->next_siblings);
	free(tree->stack_nodes);
	*tree = (struct frame_tree){0};
}

uint32_t frame_tree_find_name(const struct frame_tree *tree, const char *text, size_t length)
{
	if (length == strlen(UNKNOWN_NAME) && memcmp(text, UNKNOWN_NAME, length) == 0)
		return tree->unknown_name;
	return profile_find_string(tree->profile, text, length);
}

const char *frame_tree_get_name_text(const struct frame_tree *tree, uint32_t frame,
				     size_t *ret_length)
{
	size_t length = strlen(UNKNOWN_NAME);
	const char *name = UNKNOWN_NAME;

	if (frame != FRAME_NONE) {
		uint32_t id = profile_get_frame(tree->profile, frame)->name;

		name = profile_get_string(tree->profile, id);
		length = profile_get_string_length(tree->profile, id);
	}
	if (ret_length)
		*ret_length = length;
	return name;
}

const char *frame_get_annotation(const struct frame *frame)
{
	return frame_mark_get_text(frame_kind_get_mark(frame->kind, frame->is_inlined));
}
