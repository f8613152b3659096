#include "formats/open_slices.h"

#include <errno.h>

/* Above the addresses of user space. */
#define SYNTHETIC_START (1ull << 56)
#define SYNTHETIC_SIZE  (1ull << 20)
#define POINTER_STEP    16u

void open_slices_release(struct open_slices *open)
{
	array_release(&open->items);
}

/*
 * Ends never grow from the outermost slice to the innermost one, and all slices inside one with an
 * end have ends: the slice that has ended is the innermost.
 */
bool open_slices_leave(struct open_slices *open, uint64_t time_ns)
{
	const struct open_slice *innermost;

	if (!open->items.length)
		return false;
	innermost = &open->items.items[open->items.length - 1];
	if (!innermost->has_end || innermost->end_ns > time_ns)
		return false;
	open->items.length--;
	return true;
}

int open_slices_start(struct open_slices *open, const struct open_slice *slice,
		      struct open_slice **ret)
{
	const struct open_slice *outer;
	struct open_slice *added;

	*ret = NULL;
	if (open->max_depth && open->items.length >= open->max_depth) {
		open->num_too_deep++;
		return 0;
	}
	added = array_add(&open->items);
	if (!added)
		return -ENOMEM;
	*added = *slice;
	*ret = added;
	outer = open->items.length > 1 ? added - 1 : NULL;
	if (!outer || !outer->has_end || (slice->has_end && slice->end_ns <= outer->end_ns))
		return 0;
	open->num_truncated += slice->has_end && slice->end_ns - outer->end_ns > open->rounding_ns;
	added->end_ns = outer->end_ns;
	added->has_end = true;
	return 0;
}

bool open_slices_end(struct open_slices *open, uint32_t *ret_item)
{
	if (!open->items.length) {
		open->num_strays++;
		return false;
	}
	*ret_item = open->items.items[--open->items.length].item;
	return true;
}

bool open_slices_take_unterminated(struct open_slices *open, uint32_t *ret_item)
{
	while (open_slices_leave(open, UINT64_MAX))
		;
	if (!open->items.length)
		return false;
	open->num_unterminated++;
	*ret_item = open->items.items[--open->items.length].item;
	return true;
}

/* ---- zones ---- */

struct stack_region open_slices_get_region(uint32_t number)
{
	uint64_t start = SYNTHETIC_START + number * SYNTHETIC_SIZE;

	return (struct stack_region){
		.start = start,
		.end = start + SYNTHETIC_SIZE,
		.kind = REGION_DECLARED,
	};
}

/*
 * A hostile trace may be deeper than the region is large: deeper slices stay at the region's
 * `start`.
 */
uint64_t open_slices_get_pointer(const struct open_slices *open, const struct stack_region *region)
{
	uint64_t below = (uint64_t)open->items.length * POINTER_STEP;

	return below < region->end - region->start ? region->end - below : region->start;
}

int open_slices_add_zone(struct open_slices *open, struct timeline *timeline,
			 const struct zone *zone)
{
	size_t depth = open->items.length;
	struct open_slice *innermost = &open->items.items[depth - 1];
	struct zone added = *zone;

	added.end_ns = innermost->has_end ? innermost->end_ns : zone->start_ns;
	added.parent = depth > 1 ? innermost[-1].item : TIMELINE_NONE;
	added.name = timeline_get_location(timeline, zone->location)->name;
	added.last_attribute = TIMELINE_NONE;
	return timeline_add_zone(timeline, &added, &innermost->item);
}
