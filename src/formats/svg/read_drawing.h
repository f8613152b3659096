/*
 * The frames that are drawn in a flame graph's SVG by one of the known programs, and their call
 * tree.
 *
 * Known programs are flamegraph.pl of all years, inferno, async-profiler 1.x and ours.
 * flamegraph.pl names frames by <title>, or by a handler, in a group or bare.
 */
#ifndef FORMATS_SVG_READ_DRAWING_H
#define FORMATS_SVG_READ_DRAWING_H

#include "base/array.h"
#include "base/text.h"
#include "formats/import.h"

#define SVG_NO_FRAME UINT32_MAX

struct svg_box {
	double x; /* of the unzoomed picture; pixels, percent or, if exact, units of weight */
	double width;
	double y;
	uint64_t count;
	uint64_t rest;         /* of the count, without the callees found so far */
	double change_percent; /* of the self weight */
	uint32_t name;         /* string of the profile */
	uint32_t caller;       /* among the boxes; SVG_NO_FRAME */
	uint32_t stack;        /* of the profile */
	bool has_count;        /* else it must be measured */
	bool is_root;          /* `all`, which is not a frame */
};

struct svg_drawing {
	ARRAY(struct svg_box) boxes;
	struct text unit;   /* unit of the counts */
	bool is_exact;      /* extents are in units of weight */
	bool is_comparison; /* some frame has a change */
	size_t start;       /* of the <svg> tag, in bytes */
	uint64_t pruned;    /* at least this weight was too narrow to be drawn */
	uint64_t total;
};

/* Read the boxes. Returns 0, -ENOMEM or -EBADMSG with the reason. */
_must_check_ int svg_drawing_read(struct svg_drawing *drawing, struct import *import);
/* Sort the boxes, callers first; fill caller, rest, pruned and total. */
_must_check_ int svg_drawing_link(struct svg_drawing *drawing);
void svg_drawing_release(struct svg_drawing *drawing);

#endif
