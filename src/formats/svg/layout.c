/*
 * A frame is as wide as its weight, and its callees are on top of it. As flamegraph.pl sorts stacks
 * as text, the frame's self weight is first, at the left, then the callees in order of name:
 *
 *	        ┌─ a ─┬── b ──┐
 *	┌─ main ┴─────┴───────┤
 *	 self     callees
 *
 * Start and width are integers in units of weight, so callees never stick out by rounding; only the
 * writer makes pixels of them. A frame that is too narrow is left out with all above it.
 *
 * In a comparison a frame is as wide as its weight afterwards. With SVG_WIDTH_MAX it is as wide as
 * the larger of both weights; but never narrower than its callees together, which may be when some
 * of them grew and others shrank.
 */
#include "formats/svg/layout.h"

#include <errno.h>

#define DEFAULT_MIN_WIDTH 0.1
#define PAD_PIXELS        10

struct svg_step {
	uint32_t node;
	uint64_t start;
};

static uint64_t get_width(const struct svg_layout *layout, uint32_t node)
{
	return layout->widths ? layout->widths[node] : call_tree_get_total(layout->tree, node);
}

/* The part of a frame's width without callees on top: where its first callee starts. */
static uint64_t get_own_width(const struct svg_layout *layout, uint32_t node)
{
	const struct call_tree *tree = layout->tree;
	uint64_t width = get_width(layout, node);

	if (!layout->widths)
		return call_tree_get_self(tree, node);
	for (uint32_t child = call_tree_get_first_child(tree, node); child != CALL_TREE_NONE;
	     child = call_tree_get_next_sibling(tree, child))
		width -= get_width(layout, child);
	return width;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A parent's id is smaller than its children's: from the last to the first, children are done. */
static int make_max_widths(struct svg_layout *layout)
{
	const struct call_tree *tree = layout->tree;
	uint32_t count = call_tree_get_count(tree);

	layout->widths = calloc(count, sizeof(*layout->widths));
	if (!layout->widths)
		return -ENOMEM;
	for (uint32_t node = count; node-- > 0;) {
		uint64_t width = max(call_tree_get_total(tree, node),
				     call_tree_get_baseline_total(tree, node));

		layout->widths[node] = max(layout->widths[node], width);
		if (node != CALL_TREE_ROOT)
			layout->widths[call_tree_get_parent(tree, node)] += layout->widths[node];
	}
	return 0;
}

static uint64_t find_largest_change(const struct call_tree *tree)
{
	uint64_t largest = 1;

	for (uint32_t node = 0; node < call_tree_get_count(tree); node++) {
		uint64_t before = call_tree_get_baseline(tree, node);
		uint64_t after = call_tree_get_self(tree, node);

		largest = max(largest, after > before ? after - before : before - after);
	}
	return largest;
}

static int count_levels(struct svg_layout *layout)
{
	struct svg_walk walk = {.layout = layout};
	struct svg_frame frame;
	int found;

	while ((found = svg_walk_next(&walk, &frame)) > 0)
		if (frame.level >= layout->num_levels)
			layout->num_levels = frame.level + 1;
	svg_walk_release(&walk);
	return found;
}

int svg_layout_init(struct svg_layout *layout, const struct call_tree *tree,
		    const struct svg_opts *opts, bool is_compared)
{
	double min_width = opts->has_min_width ? opts->min_width : DEFAULT_MIN_WIDTH;
	int err = 0;

	*layout = (struct svg_layout){.tree = tree, .largest_change = 1};
	if (is_compared && opts->width_basis == SVG_WIDTH_MAX)
		err = make_max_widths(layout);
	if (err)
		return err;
	if (is_compared)
		layout->largest_change = find_largest_change(tree);
	layout->total = get_width(layout, CALL_TREE_ROOT);
	if (layout->total)
		layout->pixels_per_unit = (opts->width - 2.0 * PAD_PIXELS) / (double)layout->total;
	if (opts->is_min_width_percent)
		layout->min_units = min_width / 100 * (double)layout->total;
	else if (layout->total)
		layout->min_units = min_width / layout->pixels_per_unit;
	return count_levels(layout);
}

void svg_layout_release(struct svg_layout *layout)
{
	free(layout->widths);
	layout->widths = NULL;
}

static int push(struct svg_walk *walk, uint32_t node, uint64_t start)
{
	struct svg_step *step = array_add(&walk->steps);

	if (!step)
		return -ENOMEM;
	*step = (struct svg_step){node, start};
	return 0;
}

/* Continue the walk with the callees of this frame. */
static int enter(struct svg_walk *walk, const struct svg_frame *frame)
{
	uint32_t child = call_tree_get_first_child(walk->layout->tree, frame->node);

	if (child == CALL_TREE_NONE)
		return 0;
	return push(walk, child, frame->start + get_own_width(walk->layout, frame->node));
}

static int enter_root(struct svg_walk *walk, struct svg_frame *ret)
{
	walk->is_started = true;
	*ret = (struct svg_frame){.node = CALL_TREE_ROOT, .width = walk->layout->total};
	return enter(walk, ret) ? -ENOMEM : 1;
}

int svg_walk_next(struct svg_walk *walk, struct svg_frame *ret)
{
	const struct svg_layout *layout = walk->layout;

	if (!walk->is_started)
		return enter_root(walk, ret);
	while (walk->steps.length) {
		struct svg_step *step = &walk->steps.items[walk->steps.length - 1];

		if (step->node == CALL_TREE_NONE) {
			walk->steps.length--;
			continue;
		}
		*ret = (struct svg_frame){
			.node = step->node,
			.level = (uint32_t)walk->steps.length,
			.start = step->start,
			.width = get_width(layout, step->node),
		};
		step->node = call_tree_get_next_sibling(layout->tree, ret->node);
		step->start += ret->width;
		if ((double)ret->width < layout->min_units)
			continue;
		return enter(walk, ret) ? -ENOMEM : 1;
	}
	return 0;
}

void svg_walk_release(struct svg_walk *walk)
{
	array_release(&walk->steps);
}
