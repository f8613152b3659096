/*
 * From boxes to a call tree: which box is on which.
 *
 *	y=1       ┌ c ┐            Boxes are grouped into rows by y, and each row is sorted by x. The
 *	y=2   ┌─ b ───┐┌ d ┐       caller of a box is the box of the row before that its middle is on:
 *	y=3   ┌───── a ────┐       here c is called by b, b and d by a.
 *
 * Whether the root is at the top or at the bottom is not written anywhere: the row with the larger
 * sum of counts is nearer to the root.
 *
 * Pixels are rounded to a tenth. So a box may seem to be beside its caller, and several narrow
 * boxes may seem to be at one position. Counts decide then: callees together never have more than
 * their caller.
 *
 * The weight that was too narrow to be drawn can be estimated. All known programs put a frame's
 * self weight to the left of its callees. So free space to the right of the first callee was a
 * missing callee. Free space to the left of it may be either.
 */
#include <errno.h>
#include <math.h>

#include "base/arithmetic.h"
#include "formats/svg/read_drawing.h"

#define ROUNDING       0.11 /* pixels */
#define MAX_CANDIDATES 64   /* boxes at one position; hostile files may have any number */
#define NO_CALLER      5
#define MAX_ROWS_BACK  4 /* rows to search for a caller, as boxes may be missing in a row */

struct row {
	size_t first;
	size_t end;
	uint64_t sum; /* saturated */
};

struct linker {
	struct svg_drawing *drawing;
	ARRAY(struct row) rows; /* from the root on */
	double tolerance;       /* in the drawing's own measure */
};

static int compare_boxes(const void *left, const void *right)
{
	const struct svg_box *a = left;
	const struct svg_box *b = right;

	if (a->y != b->y)
		return a->y < b->y ? -1 : 1;
	if (a->x != b->x)
		return a->x < b->x ? -1 : 1;
	if (a->width != b->width)
		return a->width < b->width ? -1 : 1;
	return (a->count > b->count) - (a->count < b->count);
}

static int split_rows(struct linker *linker)
{
	const struct svg_box *boxes = linker->drawing->boxes.items;

	for (size_t i = 0; i < linker->drawing->boxes.length; i++) {
		struct row *row;

		if (!i || boxes[i].y != boxes[i - 1].y) {
			row = array_add(&linker->rows);
			if (!row)
				return -ENOMEM;
			row->first = i;
		}
		row = &linker->rows.items[linker->rows.length - 1];
		row->end = i + 1;
		row->sum = add_saturated(row->sum, boxes[i].count);
	}
	return 0;
}

static bool has_root(const struct linker *linker, const struct row *row)
{
	return row->end == row->first + 1 && linker->drawing->boxes.items[row->first].is_root;
}

/*
 * Rows never have more weight than those nearer to the root. On a tie the row of `all` is the root;
 * without it the root is at the bottom, as in most flame graphs.
 */
static bool is_root_at_top(const struct linker *linker)
{
	const struct row *top = &linker->rows.items[0];
	const struct row *bottom = &linker->rows.items[linker->rows.length - 1];

	if (top->sum != bottom->sum)
		return top->sum > bottom->sum;
	return has_root(linker, top) && !has_root(linker, bottom);
}

/* Reverse rows and boxes, so that callers are first. */
static void reverse(struct linker *linker)
{
	struct svg_box *boxes = linker->drawing->boxes.items;
	size_t count = linker->drawing->boxes.length;

	for (size_t i = 0; i < count; i++)
		boxes[i].y = -boxes[i].y;
	qsort(boxes, count, sizeof(*boxes), compare_boxes);
	for (size_t a = 0, b = linker->rows.length; a + 1 < b; a++) {
		struct row held = linker->rows.items[a];

		linker->rows.items[a] = linker->rows.items[--b];
		linker->rows.items[b] = held;
	}
	for (size_t i = 0, start = 0; i < linker->rows.length; i++) {
		struct row *row = &linker->rows.items[i];
		size_t length = row->end - row->first;

		row->first = start;
		row->end = start + length;
		start = row->end;
	}
}

/* The evidence against this caller, from 0 to NO_CALLER: position first, then counts. */
static int judge(const struct linker *linker, const struct svg_box *caller,
		 const struct svg_box *box)
{
	double middle = box->x + box->width / 2;
	bool is_within = middle >= caller->x && middle <= caller->x + caller->width;
	bool is_near = middle >= caller->x - linker->tolerance &&
		       middle <= caller->x + caller->width + linker->tolerance;

	if (!is_near)
		return NO_CALLER;
	if (caller->rest >= box->count)
		return is_within ? 0 : 1;
	return caller->count >= box->count ? (is_within ? 2 : 3) : 4;
}

/* The best caller in this row, or SVG_NO_FRAME. Searches to the left from the box's middle. */
static uint32_t find_in_row(const struct linker *linker, const struct row *row,
			    const struct svg_box *box)
{
	const struct svg_box *boxes = linker->drawing->boxes.items;
	double middle = box->x + box->width / 2;
	uint32_t best = SVG_NO_FRAME;
	int best_judgement = NO_CALLER;
	/* Boxes that start right of the middle cannot be callers. */
	size_t place = row->first + count_front(boxes + row->first, row->end - row->first, other,
						other->x <= middle + linker->tolerance);

	for (int tries = 0; tries < MAX_CANDIDATES && place > row->first; tries++) {
		int judgement = judge(linker, &boxes[--place], box);

		if (judgement < NO_CALLER && judgement <= best_judgement) {
			best = (uint32_t)place;
			best_judgement = judgement;
		}
		if (boxes[place].width > 4 * linker->tolerance &&
		    boxes[place].x + boxes[place].width < middle)
			break;
	}
	return best;
}

/* In the row before; failing that, in rows nearer to the root; failing that, the root itself. */
static uint32_t find_caller(const struct linker *linker, size_t row, const struct svg_box *box)
{
	uint32_t caller = SVG_NO_FRAME;

	for (size_t back = 1; back <= MAX_ROWS_BACK && back <= row && caller == SVG_NO_FRAME;
	     back++)
		caller = find_in_row(linker, &linker->rows.items[row - back], box);
	if (caller == SVG_NO_FRAME && row > MAX_ROWS_BACK)
		caller = find_in_row(linker, &linker->rows.items[0], box);
	if (caller == SVG_NO_FRAME && row && has_root(linker, &linker->rows.items[0]))
		caller = 0;
	return caller;
}

static void link_box(struct linker *linker, size_t row, struct svg_box *box)
{
	struct svg_box *boxes = linker->drawing->boxes.items;

	box->caller = find_caller(linker, row, box);
	if (box->caller == SVG_NO_FRAME)
		return;
	if (boxes[box->caller].rest < box->count)
		boxes[box->caller].rest = 0;
	else
		boxes[box->caller].rest -= box->count;
}

static int link_boxes(struct linker *linker)
{
	struct svg_drawing *drawing = linker->drawing;

	for (size_t row = 0; row < linker->rows.length; row++) {
		for (size_t i = linker->rows.items[row].first; i < linker->rows.items[row].end;
		     i++) {
			struct svg_box *box = &drawing->boxes.items[i];

			link_box(linker, row, box);
			if (box->caller == SVG_NO_FRAME &&
			    __builtin_add_overflow(drawing->total, box->count, &drawing->total))
				return -EOVERFLOW;
		}
	}
	return 0;
}

/* Titles that --nameattr replaced have no count: take it from the width. */
static void measure_counts(struct svg_drawing *drawing)
{
	double widest = 0;
	double scale = 0;

	array_for_each (&drawing->boxes, box) {
		if (box->has_count && box->width > widest) {
			widest = box->width;
			scale = (double)box->count / widest;
		}
	}
	array_for_each (&drawing->boxes, box) {
		double count = box->width * scale + 0.5;

		if (!box->has_count && count > 0 && count < 1e18)
			box->count = (uint64_t)count;
	}
}

/* Sum up the free width to the right of every box's first callee: see the top of the file. */
static int find_pruned(struct svg_drawing *drawing, double tolerance)
{
	size_t count = drawing->boxes.length;
	_cleanup_free_ double *first = malloc(count * sizeof(*first));
	double widest = 0;
	double scale = 0;

	if (!first)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct svg_box *box = &drawing->boxes.items[i];

		first[i] = INFINITY;
		if (box->caller != SVG_NO_FRAME && box->x < first[box->caller])
			first[box->caller] = box->x;
		if (box->width > widest && box->count) {
			widest = box->width;
			scale = (double)box->count / widest;
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct svg_box *box = &drawing->boxes.items[i];
		double callees = (double)(box->count - box->rest);
		double free_extent = first[i] < INFINITY
					     ? (box->x + box->width - first[i]) * scale - callees
					     : 0;

		if (free_extent > 2 * tolerance * scale + 0.5 && free_extent < 1e18)
			drawing->pruned = add_saturated(drawing->pruned,
							free_extent < (double)box->rest
								? (uint64_t)(free_extent + 0.5)
								: box->rest);
	}
	return 0;
}

static void linker_release(struct linker *linker)
{
	array_release(&linker->rows);
}

int svg_drawing_link(struct svg_drawing *drawing)
{
	_cleanup_(linker_release) struct linker linker = {
		.drawing = drawing,
		.tolerance = drawing->is_exact ? 0 : ROUNDING,
	};
	int err;

	measure_counts(drawing);
	array_for_each (&drawing->boxes, box)
		box->rest = box->count;
	qsort(drawing->boxes.items, drawing->boxes.length, sizeof(*drawing->boxes.items),
	      compare_boxes);
	err = split_rows(&linker);
	if (err)
		return err;
	if (!is_root_at_top(&linker))
		reverse(&linker);
	err = link_boxes(&linker);
	if (err)
		return err;
	return find_pruned(drawing, linker.tolerance);
}
