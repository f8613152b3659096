/*
 * The places of the frames of a flame graph: their widths in units of weight, and which of them are
 * wide enough to be drawn.
 */
#ifndef FORMATS_SVG_LAYOUT_H
#define FORMATS_SVG_LAYOUT_H

#include "analysis/call_tree.h"
#include "base/array.h"
#include "formats/svg.h"

struct svg_layout {
	const struct call_tree *tree; /* borrowed */
	uint64_t total;               /* the width of the root */
	double pixels_per_unit;       /* 0 if there is nothing to draw */
	double min_units;             /* narrower frames are left out */
	uint64_t largest_change;      /* of the weight of one stack; at least 1 */
	uint32_t num_levels;          /* drawn levels, the root's included */
	/* Widths by node, if they are not just the totals; else NULL. */
	uint64_t *widths;
};

/* A frame that is drawn. */
struct svg_frame {
	uint32_t node;
	uint32_t level; /* 0: the root */
	uint64_t start; /* in units of weight, from the left */
	uint64_t width;
};

/* The drawn frames, callers before callees, from left to right. */
struct svg_walk {
	const struct svg_layout *layout;
	ARRAY(struct svg_step) steps; /* the path to the next frame */
	bool is_started;
};

/*
 * opts        of the picture; the width is used as it is, not 0
 * is_compared the tree has a baseline
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int svg_layout_init(struct svg_layout *layout, const struct call_tree *tree,
				 const struct svg_opts *opts, bool is_compared);
void svg_layout_release(struct svg_layout *layout);

/* The next drawn frame. Returns 1, 0 after the last, or -ENOMEM. */
_must_check_ int svg_walk_next(struct svg_walk *walk, struct svg_frame *ret);
void svg_walk_release(struct svg_walk *walk);

#endif
