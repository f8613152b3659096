/*
 * The open slices of a track: makes nested zones of the slices of a trace.
 *
 * Events of a track are in order of time. Each first leaves the slices that have ended by then, and
 * then starts or ends one:
 *
 *	while (open_slices_leave(&open, time_ns)) …
 *	open_slices_start(&open, &slice, &opened), open_slices_add_zone(&open, timeline, &zone)
 *	open_slices_end(&open, &item)
 *
 * and at the end of the track open_slices_take_unterminated() gives those that have no end. A slice
 * is inside those that are open when it starts, and ends at the latest with them. An end is that of
 * the innermost one.
 *
 * Differences between formats:
 *
 *  - Perfetto's slices nest in the order of their events. A complete event has its end, that of
 *    others follows later, and ends whatever is innermost then.
 *  - If several of Chrome's slices start at once, the longest is around the others, so that all
 *    ends have to be known before. Starts and ends are joined first, by a struct open_slices of
 *    their own.
 *  - Chrome bounds the depth, and counts truncation beyond the rounding of times.
 */
#ifndef FORMATS_OPEN_SLICES_H
#define FORMATS_OPEN_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "timeline/timeline.h"

struct open_slice {
	uint64_t end_ns;
	uint32_t item; /* zone of the timeline, or the caller's own number */
	bool has_end;  /* or one around it has; else its end is yet to follow */
};

/* Zeroed is empty. */
struct open_slices {
	uint32_t max_depth;             /* 0: as deep as it goes */
	uint64_t rounding_ns;           /* truncation by at most this is not counted */
	ARRAY(struct open_slice) items; /* outermost first */
	uint64_t num_strays;            /* ends without a start */
	uint64_t num_unterminated;
	uint64_t num_truncated;
	uint64_t num_too_deep; /* slices left out */
};

void open_slices_release(struct open_slices *open);

/* Leave the innermost slice if it has ended by that time. Returns whether it has. */
bool open_slices_leave(struct open_slices *open, uint64_t time_ns);
/*
 * Start a slice inside the open ones.
 *
 * ret  NULL: it would be too deep. Its end is truncated to that of the one around it; valid until
 *      the next call
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int open_slices_start(struct open_slices *open, const struct open_slice *slice,
				   struct open_slice **ret);
/* End the innermost slice. False, and counted: none is open. */
bool open_slices_end(struct open_slices *open, uint32_t *ret_item);
/* At the end of a track: the next of those that have no end, innermost first. False: no more. */
bool open_slices_take_unterminated(struct open_slices *open, uint32_t *ret_item);

/*
 * A region for a track that has none: zones are on stack regions, which foreign traces do not know.
 * Each number gives another one, above all addresses of user space, without process and name.
 */
struct stack_region open_slices_get_region(uint32_t number);
/* The pointer of the innermost slice on it: lower the deeper it is, as in a program. */
uint64_t open_slices_get_pointer(const struct open_slices *open, const struct stack_region *region);
/*
 * Add the zone of the innermost slice, which becomes its item. A zone without an end has no
 * duration until the caller sets it.
 *
 * zone  with start_ns, pointer, region, thread and location
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int open_slices_add_zone(struct open_slices *open, struct timeline *timeline,
				      const struct zone *zone);

#endif
