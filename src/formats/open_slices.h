/*
 * The slices of a track that are open: makes zones, which nest, of what a trace has as slices.
 *
 * Events of a track come in order of time. Each first leaves the slices that have ended by then,
 * and then begins or ends one:
 *
 *	while (open_slices_leave(&open, time_ns)) …
 *	open_slices_begin(&open, &slice, &opened), open_slices_add_zone(&open, timeline, &zone)
 *	open_slices_end(&open, &item)
 *
 * and at the end of the track open_slices_take_unterminated() gives those that have no end. A slice
 * is inside those that are open when it begins, and ends at the latest with them. An end is that of
 * the innermost one.
 *
 * What formats do differently:
 *
 *  - Perfetto's slices nest in the order of their events. The end of a complete event comes with
 *    it, that of others later, and ends whatever is innermost then.
 *  - Of Chrome's slices that begin at once the longest is around the others, so that all ends have
 *    to be known before. Begins and ends are joined first, by a struct open_slices of their own.
 *  - Chrome bounds the depth, and counts what is truncated by more than times are rounded.
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
	uint32_t item; /* zone of the timeline, or what the caller likes */
	bool has_end;  /* or one around it has; else an end has to come */
};

/* Zeroed is empty. */
struct open_slices {
	uint32_t max_depth;             /* 0: as deep as it goes */
	uint64_t rounding_ns;           /* what is truncated by no more than that is not counted */
	ARRAY(struct open_slice) items; /* outermost first */
	uint64_t num_strays;            /* ends without a begin */
	uint64_t num_unterminated;
	uint64_t num_truncated;
	uint64_t num_too_deep; /* that were left out */
};

void open_slices_release(struct open_slices *open);

/* Leave the innermost slice if it has ended by that time. Returns whether it has. */
bool open_slices_leave(struct open_slices *open, uint64_t time_ns);
/*
 * Begin a slice in those that are open.
 *
 * ret  NULL: it would be too deep. Its end is truncated to that of the one around it; valid until
 *      the next begin
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int open_slices_begin(struct open_slices *open, const struct open_slice *slice,
				   struct open_slice **ret);
/* End the innermost slice. False, and counted: none is open. */
bool open_slices_end(struct open_slices *open, uint32_t *ret_item);
/* At the end of a track: the next of those that have no end, innermost first. False: no more. */
bool open_slices_take_unterminated(struct open_slices *open, uint32_t *ret_item);

/*
 * A region for a track that is about none: zones lie on stack regions, and traces of others know
 * nothing of them. Of each number another one, above all addresses of user space, without process
 * and name.
 */
struct stack_region open_slices_get_region(uint32_t number);
/* Of the innermost slice on it: lower the deeper it is, as that of a program would be. */
uint64_t open_slices_get_pointer(const struct open_slices *open, const struct stack_region *region);
/*
 * Add the zone of the innermost slice, which becomes its item. A slice without an end has one of no
 * duration until the caller knows more.
 *
 * zone  with begin_ns, pointer, region, thread and location
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int open_slices_add_zone(struct open_slices *open, struct timeline *timeline,
				      const struct zone *zone);

#endif
