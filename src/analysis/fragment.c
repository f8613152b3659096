#include "analysis/fragment.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

struct fragment_in_tree {
	const struct fragment *fragment;
	const struct frame_tree *tree;
};

/*
 * Find a frame by its name with or without the mark. The whole text is tried first: names that end
 * like a mark exist, though rarely.
 */
static struct fragment_frame find_frame(const struct frame_tree *tree, const char *text,
					size_t length)
{
	struct fragment_frame frame = {.name = frame_tree_find_name(tree, text, length)};
	uint8_t mark;

	if (frame.name != STRING_NONE || !frame_mark_strip(text, &length, &mark))
		return frame;
	frame.name = frame_tree_find_name(tree, text, length);
	frame.annotation = frame_mark_get_text(mark);
	return frame;
}

int fragment_init(struct fragment *fragment, const struct frame_tree *tree, const char *text)
{
	size_t num_frames = text ? 1 : 0;

	*fragment = (struct fragment){0};
	for (const char *c = text; c && *c; c++)
		num_frames += *c == ';';
	if (num_frames >= UINT32_MAX)
		return -ENOMEM;
	fragment->frames = calloc(num_frames ? num_frames : 1, sizeof(*fragment->frames));
	if (!fragment->frames)
		return -ENOMEM;
	for (; text && fragment->num_frames < num_frames; fragment->num_frames++) {
		size_t length = strcspn(text, ";");

		fragment->frames[fragment->num_frames] = find_frame(tree, text, length);
		text += length + 1;
	}
	return 0;
}

void fragment_release(struct fragment *fragment)
{
	free(fragment->frames);
	*fragment = (struct fragment){0};
}

static uint32_t get_name(const void *context, uint32_t node)
{
	const struct fragment_in_tree *in = context;

	return frame_tree_get_name(in->tree, in->tree->frames[node]);
}

/* Whether the node's frame has the mark; NULL: any. */
static bool has_annotation(const struct frame_tree *tree, uint32_t node, const char *wanted)
{
	uint32_t frame = tree->frames[node];

	return !wanted ||
	       (frame != FRAME_NONE && string_equals(wanted, frame_get_annotation(profile_get_frame(
								     tree->profile, frame))));
}

/* The names are equal; compare the marks, too. */
static bool has_annotations(const void *context, uint32_t node)
{
	const struct fragment_in_tree *in = context;
	const struct frame_tree *tree = in->tree;

	for (size_t i = in->fragment->num_frames; i-- > 0; node = tree->parents[node])
		if (!has_annotation(tree, node, in->fragment->frames[i].annotation))
			return false;
	return true;
}

int fragment_find(const struct fragment *fragment, const struct frame_tree *tree,
		  struct occurrences *ret)
{
	struct fragment_in_tree in = {fragment, tree};
	struct named_tree names_of_tree = {
		.num_nodes = tree->num_nodes,
		.parents = tree->parents,
		.get_name = get_name,
		.context = &in,
	};
	size_t num_names = fragment->num_frames;
	_cleanup_free_ uint32_t *names = calloc(num_names + 1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < fragment->num_frames; i++) {
		names[i] = fragment->frames[i].name;
		if (names[i] == STRING_NONE) /* in no stack: as if nothing was searched */
			num_names = 0;
		if (fragment->frames[i].annotation)
			names_of_tree.confirms = has_annotations;
	}
	return occurrences_init(ret, &names_of_tree, names, num_names);
}

static bool is_frame(const struct fragment_frame *wanted, const struct frame_tree *tree,
		     uint32_t node)
{
	return wanted->name != STRING_NONE &&
	       frame_tree_get_name(tree, tree->frames[node]) == wanted->name &&
	       has_annotation(tree, node, wanted->annotation);
}

/* Parents precede their children. */
int fragment_find_starts(const struct fragment *fragment, const struct frame_tree *tree, bool *ret)
{
	/*
	 * Number of the fragment's frames in the stack so far, if it has no others; else
	 * NO_BEGINNING, until it has all.
	 */
	enum { NO_START = UINT32_MAX };
	uint32_t num_frames = (uint32_t)fragment->num_frames;
	_cleanup_free_ uint32_t *counts = calloc(tree->num_nodes, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	ret[FRAME_TREE_ROOT] = num_frames == 0;
	for (uint32_t node = 1; node < tree->num_nodes; node++) {
		uint32_t count = counts[tree->parents[node]];

		if (count < num_frames)
			count = is_frame(&fragment->frames[count], tree, node) ? count + 1
									       : NO_START;
		counts[node] = count;
		ret[node] = count == num_frames;
	}
	return 0;
}
