/*
 * From the base outwards, a node is expanded only when it was found to be on the screen and wide
 * enough. A row has room for a limited number of such nodes, so the cost of a screen depends on its
 * visible nodes, however large the profile is. The rest of the flame is made when somebody zooms
 * into it.
 */
#include "viewer/flame_layout.h"

#include <errno.h>

/* In halves, because the page reads boxes as words of 32 bits. */
static void split(uint64_t value, uint32_t halves[2])
{
	halves[0] = (uint32_t)value;
	halves[1] = (uint32_t)(value >> 32);
}

void flame_box_fill(struct flame_box *box, const struct flame_node *node, uint32_t id)
{
	*box = (struct flame_box){
		.node = id,
		.symbol = node->symbol,
		.function = node->function,
		.depth = node->depth,
		.flags = node->flags | (node->is_base ? FLAME_BOX_BASE : 0u),
	};
	split(node->total, box->total);
	split(node->self, box->self);
	split(node->baseline_total, box->baseline_total);
	split(node->baseline_self, box->baseline_self);
}

struct flame_extent {
	double x_px;
	double width_px;
};

/* Whether a node can be seen. */
static bool find_extent(const struct flame *flame, const struct flame_viewport *viewport,
			const struct flame_node *node, struct flame_extent *ret)
{
	double whole = flame_get_width(flame);
	double scale = viewport->width_px / (whole * (viewport->to - viewport->from));

	ret->x_px = (node->start - viewport->from * whole) * scale;
	ret->width_px = node->width * scale;
	return ret->width_px >= viewport->min_width_px && ret->x_px < viewport->width_px &&
	       ret->x_px + ret->width_px > 0;
}

/* Pushes the last child first, so that the first is popped first. */
static int push_children(struct flame_layout *layout, const struct flame *flame,
			 const struct flame_viewport *viewport, const struct flame_node *node)
{
	for (uint32_t i = node->num_children; i-- > 0;) {
		uint32_t child = node->first_child + i;
		struct flame_extent extent;
		uint32_t *pending;

		if (!find_extent(flame, viewport, flame_get_node(flame, child), &extent))
			continue;
		pending = array_add(&layout->pending);
		if (!pending)
			return -ENOMEM;
		*pending = child;
	}
	return 0;
}

static int add_node(struct flame_layout *layout, struct flame *flame,
		    const struct flame_viewport *viewport, uint32_t id)
{
	const struct flame_node *node = flame_get_node(flame, id);
	struct flame_extent extent;
	struct flame_box *box;

	if (!find_extent(flame, viewport, node, &extent))
		return 0;
	box = array_add(&layout->boxes);
	if (!box)
		return -ENOMEM;
	flame_box_fill(box, node, id);
	box->x_px = (float)extent.x_px;
	box->width_px = (float)extent.width_px;
	if (flame_expand(flame, id))
		return -ENOMEM;
	return push_children(layout, flame, viewport, flame_get_node(flame, id));
}

/* A stack of nodes instead of recursion: a flame may be as deep as the deepest stack. */
int flame_layout_make(struct flame_layout *layout, struct flame *flame,
		      const struct flame_viewport *viewport)
{
	uint32_t *base;

	layout->boxes.length = 0;
	layout->pending.length = 0;
	if (flame_get_width(flame) <= 0 || viewport->to <= viewport->from)
		return 0;
	base = array_add(&layout->pending);
	if (!base)
		return -ENOMEM;
	*base = 0;
	while (layout->pending.length) {
		int err = add_node(layout, flame, viewport,
				   layout->pending.items[--layout->pending.length]);

		if (err)
			return err;
	}
	return 0;
}

void flame_layout_release(struct flame_layout *layout)
{
	array_release(&layout->boxes);
	array_release(&layout->pending);
}
