/*
 * Two streams are merged: starts, in order already or put in order by their numbers in memory, and
 * the ends of open occupancies, which wait in a heap. As those of one region do not overlap, no
 * more are open than there are regions, however many there are in all.
 */
#include "timeline/occupancy_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/heap.h"

/*
 * At one moment a thread leaves its region, is on others for no time, and enters the next: in this
 * order, whatever that of the occupancies is.
 */
enum step_rank { RANK_LEAVE, RANK_PASS, RANK_ENTER };

static enum step_rank get_rank(const struct occupancy *occupancy, bool is_end)
{
	if (occupancy->start_ns == occupancy->end_ns)
		return RANK_PASS;
	return is_end ? RANK_LEAVE : RANK_ENTER;
}

/* If an occupancy has no duration, its end follows its start. */
static int compare_steps(const struct numbered_occupancy *left, bool left_is_end,
			 const struct numbered_occupancy *right, bool right_is_end)
{
	uint64_t left_ns = left_is_end ? left->occupancy.end_ns : left->occupancy.start_ns;
	uint64_t right_ns = right_is_end ? right->occupancy.end_ns : right->occupancy.start_ns;
	enum step_rank left_rank = get_rank(&left->occupancy, left_is_end);
	enum step_rank right_rank = get_rank(&right->occupancy, right_is_end);

	if (left_ns != right_ns)
		return left_ns < right_ns ? -1 : 1;
	if (left_rank != right_rank)
		return left_rank < right_rank ? -1 : 1;
	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return left_is_end - right_is_end;
}

int occupancy_compare_starts(const void *a, const void *b)
{
	return compare_steps(a, false, b, false);
}

/* ---- those in memory ---------------------------------------------------------------------- */

static struct numbered_occupancy get_added(const struct timeline *timeline, uint32_t id)
{
	return (struct numbered_occupancy){.occupancy = *timeline_get_occupancy(timeline, id),
					   .number = id};
}

static int compare_ids(const void *a, const void *b, void *timeline)
{
	struct numbered_occupancy left = get_added(timeline, *(const uint32_t *)a);
	struct numbered_occupancy right = get_added(timeline, *(const uint32_t *)b);

	return occupancy_compare_starts(&left, &right);
}

/*
 * Backwards, so that the following occupancy of each region is known: those of one region are in
 * order.
 */
static int find_hand_overs(const struct timeline *timeline, bool *is_handed_over)
{
	size_t num_regions = timeline_count_region(timeline);
	_cleanup_free_ uint32_t *following = malloc((num_regions + 1) * sizeof(*following));

	if (!following)
		return -ENOMEM;
	memset(following, 0xff, (num_regions + 1) * sizeof(*following));
	for (uint32_t i = timeline_count_occupancy(timeline); i-- > 0;) {
		const struct occupancy *occupancy = timeline_get_occupancy(timeline, i);
		uint32_t *thread = &following[occupancy->region];

		is_handed_over[i] = *thread != TIMELINE_NONE && *thread != occupancy->thread;
		*thread = occupancy->thread;
	}
	return 0;
}

static int order_added(struct occupancy_walk *walk)
{
	uint32_t count = timeline_count_occupancy(walk->timeline);

	walk->order = malloc(((size_t)count + 1) * sizeof(*walk->order));
	walk->is_handed_over = malloc((size_t)count + 1);
	if (!walk->order || !walk->is_handed_over)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		walk->order[i] = i;
	qsort_r(walk->order, count, sizeof(*walk->order), compare_ids,
		(struct timeline *)(uintptr_t)walk->timeline);
	return find_hand_overs(walk->timeline, walk->is_handed_over);
}

/* ---- the merge ---------------------------------------------------------------------------- */

static int read_next(struct occupancy_walk *walk)
{
	uint32_t id;
	int got;

	if (walk->source) {
		got = walk->source->next(walk->source->context, &walk->next);
		walk->has_next = got > 0;
		return got < 0 ? got : 0;
	}
	walk->has_next = walk->num_read < timeline_count_occupancy(walk->timeline);
	if (!walk->has_next)
		return 0;
	id = walk->order[walk->num_read++];
	walk->next = get_added(walk->timeline, id);
	walk->next.is_handed_over = walk->is_handed_over[id];
	return 0;
}

int occupancy_walk_init(struct occupancy_walk *walk, const struct timeline *timeline)
{
	int err;

	*walk = (struct occupancy_walk){.timeline = timeline,
					.source = timeline_get_occupancies(timeline)};
	err = walk->source ? walk->source->rewind(walk->source->context) : order_added(walk);
	return err ? err : read_next(walk);
}

void occupancy_walk_release(struct occupancy_walk *walk)
{
	free(walk->order);
	free(walk->is_handed_over);
	array_release(&walk->open);
	array_release(&walk->heap);
	*walk = (struct occupancy_walk){0};
}

static bool ends_before(const void *owner, uint32_t a, uint32_t b)
{
	const struct occupancy_walk *walk = owner;

	return compare_steps(&walk->open.items[a], true, &walk->open.items[b], true) < 0;
}

/* Add the next one to the open ones. */
static int open_next(struct occupancy_walk *walk)
{
	if (walk->num_open == walk->open.length) {
		uint32_t *place = array_add(&walk->heap);

		if (!place || !array_add(&walk->open))
			return -ENOMEM;
		*place = (uint32_t)walk->num_open;
	}
	walk->open.items[walk->heap.items[walk->num_open]] = walk->next;
	heap_sift_up(walk->heap.items, ++walk->num_open, ends_before, walk);
	return 0;
}

/* The place goes behind the heap, to those that are free. */
static void end_first(struct occupancy_walk *walk)
{
	uint32_t place = walk->heap.items[0];

	walk->heap.items[0] = walk->heap.items[--walk->num_open];
	walk->heap.items[walk->num_open] = place;
	heap_sift_down(walk->heap.items, walk->num_open, ends_before, walk);
}

int occupancy_walk_next(struct occupancy_walk *walk, struct occupancy_step *ret)
{
	const struct numbered_occupancy *first;
	int err;

	first = walk->num_open ? &walk->open.items[walk->heap.items[0]] : NULL;
	if (first && (!walk->has_next || compare_steps(first, true, &walk->next, false) < 0)) {
		*ret = (struct occupancy_step){.of = *first, .is_end = true};
		end_first(walk);
		return 1;
	}
	if (!walk->has_next)
		return 0;
	*ret = (struct occupancy_step){.of = walk->next};
	err = open_next(walk);
	if (err)
		return err;
	err = read_next(walk);
	return err ? err : 1;
}
