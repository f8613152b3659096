#include "analysis/fragment.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

#define NO_STATE UINT32_MAX

static const char *const annotations[] = {"_[k]", "_[i]", "_[j]"};

/* Without its mark, if it has one; else as it is. */
static struct fragment_frame find_frame(const struct frame_tree *tree, const char *text,
					size_t length)
{
	struct fragment_frame frame = {.name = frame_tree_find_name(tree, text, length)};

	for (size_t i = 0; frame.name == STRING_NONE && i < ARRAY_LENGTH(annotations); i++) {
		size_t mark = strlen(annotations[i]);

		if (length <= mark || memcmp(text + length - mark, annotations[i], mark) != 0)
			continue;
		frame.name = frame_tree_find_name(tree, text, length - mark);
		frame.annotation = annotations[i];
		break;
	}
	return frame;
}

int fragment_init(struct fragment *fragment, const struct frame_tree *tree, const char *text)
{
	size_t num_frames = text ? 1 : 0;

	*fragment = (struct fragment){0};
	for (const char *c = text; c && *c; c++)
		num_frames += *c == ';';
	if (num_frames >= NO_STATE)
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

/*
 * Knuth, Morris and Pratt: having met the first `state` frames of the fragment, and now one that
 * is not the next, go on as if nexts[state] of them had been met. States whose next frame is the
 * same are left out, so that few steps are needed at one node.
 */
static void prepare_states(const struct fragment *fragment, uint32_t *nexts)
{
	const struct fragment_frame *frames = fragment->frames;
	uint32_t num_frames = (uint32_t)fragment->num_frames;
	uint32_t border = NO_STATE;

	nexts[0] = NO_STATE;
	for (uint32_t state = 0; state < num_frames;) {
		while (border != NO_STATE && frames[state].name != frames[border].name)
			border = nexts[border];
		state++;
		border++; /* NO_STATE becomes 0 */
		nexts[state] = state < num_frames && frames[state].name == frames[border].name
				       ? nexts[border]
				       : border;
	}
}

static uint32_t step(const struct fragment *fragment, const uint32_t *nexts, uint32_t state,
		     uint32_t name)
{
	while (state != NO_STATE &&
	       (state == fragment->num_frames || fragment->frames[state].name != name))
		state = nexts[state];
	return state + 1;
}

static bool wants_annotations(const struct fragment *fragment)
{
	for (size_t i = 0; i < fragment->num_frames; i++)
		if (fragment->frames[i].annotation)
			return true;
	return false;
}

/* The names have been compared: do the marks agree too? */
static bool has_annotations(const struct frame_tree *tree, const struct fragment *fragment,
			    uint32_t node)
{
	for (size_t i = fragment->num_frames; i-- > 0; node = tree->parents[node]) {
		const char *wanted = fragment->frames[i].annotation;

		if (!wanted)
			continue;
		if (tree->frames[node] == FRAME_NONE)
			return false;
		if (!string_equals(wanted, frame_get_annotation(profile_get_frame(
						   tree->profile, tree->frames[node]))))
			return false;
	}
	return true;
}

static void find_occurrences(struct occurrences *occurrences, const struct frame_tree *tree,
			     const struct fragment *fragment, const uint32_t *nexts,
			     uint32_t *states)
{
	bool has_marks = wants_annotations(fragment);

	for (uint32_t node = 1; node < tree->num_nodes; node++) {
		uint32_t parent = tree->parents[node];
		uint32_t name = frame_tree_get_name(tree, tree->frames[node]);

		states[node] = step(fragment, nexts, states[parent], name);
		occurrences->is_end[node] = states[node] == fragment->num_frames &&
					    (!has_marks || has_annotations(tree, fragment, node));
		occurrences->first_ends[node] = occurrences->first_ends[parent];
		if (occurrences->first_ends[node] == FRAME_TREE_ROOT && occurrences->is_end[node])
			occurrences->first_ends[node] = node;
	}
}

int occurrences_init(struct occurrences *occurrences, const struct frame_tree *tree,
		     const struct fragment *fragment)
{
	_cleanup_free_ uint32_t *nexts = calloc(fragment->num_frames + 1, sizeof(*nexts));
	_cleanup_free_ uint32_t *states = calloc(tree->num_nodes, sizeof(*states));

	occurrences->first_ends = calloc(tree->num_nodes, sizeof(*occurrences->first_ends));
	occurrences->is_end = calloc(tree->num_nodes, sizeof(*occurrences->is_end));
	if (!nexts || !states || !occurrences->first_ends || !occurrences->is_end)
		return -ENOMEM;
	if (!fragment->num_frames)
		return 0;
	for (size_t i = 0; i < fragment->num_frames; i++)
		if (fragment->frames[i].name == STRING_NONE)
			return 0;
	prepare_states(fragment, nexts);
	find_occurrences(occurrences, tree, fragment, nexts, states);
	return 0;
}

void occurrences_release(struct occurrences *occurrences)
{
	free(occurrences->first_ends);
	free(occurrences->is_end);
	*occurrences = (struct occurrences){0};
}
