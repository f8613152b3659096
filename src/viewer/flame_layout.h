/* The positions of a flame's nodes on a screen: visible ones only. */
#ifndef VIEWER_FLAME_LAYOUT_H
#define VIEWER_FLAME_LAYOUT_H

#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "viewer/flame.h"

struct flame_viewport {
	double from, to;     /* part of the flame's width, from 0 to 1 */
	double width_px;     /* width on the screen */
	double min_width_px; /* narrower nodes are skipped, with their children */
};

#define FLAME_BOX_BASE 256u /* flag of a level of the fragment, or of the node of all stacks */

/* The box of a node, for the page: 16 little-endian 32-bit words; 64-bit numbers low half first. */
struct flame_box {
	uint32_t node;
	uint32_t symbol; /* SYMBOL_NONE: all stacks */
	uint32_t function;
	uint32_t depth;
	uint32_t flags; /* enum node_flag, FLAME_BOX_BASE */
	float x_px;     /* from the viewport's left edge; may be below 0 */
	float width_px; /* may reach beyond the right edge */
	uint32_t unused;
	uint32_t total[2];
	uint32_t self[2];
	uint32_t baseline_total[2];
	uint32_t baseline_self[2];
};

_Static_assert(sizeof(struct flame_box) == 64, "the page reads it as 16 words");

struct flame_layout {
	ARRAY(struct flame_box) boxes; /* parents before children, siblings from left to right */
	ARRAY(uint32_t) pending;
};

/* Replace the boxes by the visible ones. Returns 0 or -ENOMEM. */
_must_check_ int flame_layout_make(struct flame_layout *layout, struct flame *flame,
				   const struct flame_viewport *viewport);
void flame_layout_release(struct flame_layout *layout);

/* Fill a box without its position. */
void flame_box_fill(struct flame_box *box, const struct flame_node *node, uint32_t id);

#endif
