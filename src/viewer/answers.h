/*
 * The answers of a session to the page, as bytes: JSON for small things, packed little-endian
 * numbers for large ones. 64-bit numbers in JSON are strings, since JavaScript would round them.
 *
 * Every function appends to a text; the caller checks text->failed.
 */
#ifndef VIEWER_ANSWERS_H
#define VIEWER_ANSWERS_H

#include "base/attributes.h"
#include "base/text.h"
#include "viewer/session.h"

/* [{"name","extension","isRead","isWritten"}…] */
void answer_formats(struct text *text);

/*
 * Append {"sources":[…],"metrics":[{"name","unit","total"}…]}; totals are of the shown files. A
 * source hasTimes if the times of its samples are known. It has its tallies (profile/provenance.h),
 * struct sampling among them as "sampling.…", the number of its samples, and their weight in its
 * first metric.
 */
void answer_overview(struct session *session, struct text *text);

/*
 * The heatmap of time, as numbers of 64-bit floating point: milliseconds of a row, rows of a
 * column, columns, span_ms, start_ms, timeless, then the cells; see time_grid.h. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int answer_time_grid(const struct session *session, uint32_t max_columns,
				  struct text *text);

/*
 * Names: a number n, n + 1 offsets into the bytes that follow them, the bytes. Symbols have n more
 * numbers before the bytes: the first function of each.
 */
void answer_symbols(const struct graph *graph, struct text *text);
/* n, then for each function: symbol, string of its module, flags (enum node_flag), unused. */
void answer_functions(const struct graph *graph, struct text *text);
/* {"ID":"NAME"…}: the strings that are modules of functions. */
void answer_modules(const struct graph *graph, struct text *text);
/* [{"comm","pid","tid","process","source"}…] by thread */
void answer_threads(const struct graph *graph, struct text *text);

/*
 * {"sum","baselineSum","inclusive","exclusive","noCaller","baselineInclusive",…}: the numbers of
 * the fragment in the view. Returns 0 or -ENOMEM.
 */
_must_check_ int answer_view(struct session *session, struct text *text);

/* struct flame_box of every child. Returns 0 or -ENOMEM. */
_must_check_ int answer_children(struct flame *flame, uint32_t node, struct text *text);

/*
 * {"sum","inclusive","wakers":[{"symbol","total"}…],"chain":[{"waiter" (null: the fragment),"futex"
 * (or null),"total", "ended","frames":[…]}…]}: frames are symbols, from the inside out; the waker's
 * name is last.
 */
void answer_waits(const struct waits *waits, struct text *text);
/*
 * Append [{"node","symbol","total"}…]: the children of a node of a waker's stacks, 0 at first,
 * without the waker's name.
 *
 * Returns 0, -ENOMEM, -EOVERFLOW, or -EINVAL with the reason in error.
 */
_must_check_ int answer_waker_stacks(struct waits *waits, uint32_t waker, uint32_t node,
				     struct text *text, struct error *error);

#endif
