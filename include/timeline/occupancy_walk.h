/*
 * The occupancies of a timeline as starts and ends, in order of time.
 *
 *	struct occupancy_walk walk;
 *	struct occupancy_step step;
 *
 *	err = occupancy_walk_init(&walk, timeline);
 *	while ((got = occupancy_walk_next(&walk, &step)) > 0) …
 *	occupancy_walk_release(&walk);
 *
 * Memory: for the occupancies that are open at one time, plus 5 bytes for each that the timeline
 * has in memory. The timeline must not change meanwhile. One reader at a time.
 */
#ifndef TIMELINE_OCCUPANCY_WALK_H
#define TIMELINE_OCCUPANCY_WALK_H

#include "base/array.h"
#include "timeline/timeline.h"

struct occupancy_step {
	struct numbered_occupancy of;
	bool is_end;
};

struct occupancy_walk {
	const struct timeline *timeline;
	const struct timeline_source *source; /* NULL: all are in memory, as below */
	uint32_t *order;                      /* of these, by start */
	bool *is_handed_over;
	uint32_t num_read;              /* of order */
	struct numbered_occupancy next; /* the next one to start */
	bool has_next;
	ARRAY(struct numbered_occupancy) open;
	/* The places of `open`: first a heap of those in use, by end, then those that are free. */
	ARRAY(uint32_t) heap;
	size_t num_open;
};

/*
 * The order in which occupancies start, as for qsort(), of struct numbered_occupancy: at one moment
 * those that end at once are first.
 */
int occupancy_compare_starts(const void *a, const void *b);

/* 0, -ENOMEM, or negative errno of the source. */
_must_check_ int occupancy_walk_init(struct occupancy_walk *walk, const struct timeline *timeline);
void occupancy_walk_release(struct occupancy_walk *walk);

/* Returns 1 and the step, 0 after the last, or negative errno. */
_must_check_ int occupancy_walk_next(struct occupancy_walk *walk, struct occupancy_step *ret);

/*
 * Which thread is on which stack region: turns single pieces of evidence ("thread T was seen on
 * region R at time t") into occupancies.
 *
 * A thread stays on a region until it is seen on another one, until another thread is seen there,
 * or until it leaves; at the end, until it was last seen. Late evidence (its time is inside the
 * known occupancies) never makes occupancies overlap: their bounds are moved.
 */

struct occupancy_tracker;

/* Functions return 0, -ENOMEM, or the error of the timeline's consumer. */

/* The timeline gets the occupancies and outlives the tracker. NULL when out of memory. */
struct occupancy_tracker *occupancy_tracker_new(struct timeline *timeline);
void occupancy_tracker_free(struct occupancy_tracker *tracker);
static inline void occupancy_tracker_freep(struct occupancy_tracker **tracker)
{
	occupancy_tracker_free(*tracker);
}

/* The thread is on the region, with its stack pointer there (0: unknown). */
_must_check_ int occupancy_tracker_enter(struct occupancy_tracker *tracker, uint32_t thread,
					 uint32_t region, uint64_t pointer, uint64_t time_ns);

/* The thread is on no region that we know of. */
_must_check_ int occupancy_tracker_leave(struct occupancy_tracker *tracker, uint32_t thread,
					 uint64_t time_ns);

/* Something ran on the region, on whatever thread is there. */
void occupancy_tracker_touch(struct occupancy_tracker *tracker, uint32_t region, uint64_t time_ns);

/* TIMELINE_NONE if not found. */
uint32_t occupancy_tracker_find_thread(const struct occupancy_tracker *tracker, uint32_t region);
uint32_t occupancy_tracker_find_region(const struct occupancy_tracker *tracker, uint32_t thread);

/*
 * The thread's present occupancy, up to its last evidence, or NULL. Valid until the tracker's next
 * call.
 */
const struct occupancy *occupancy_tracker_find_present(const struct occupancy_tracker *tracker,
						       uint32_t thread);

/* End every occupancy when its thread was last seen on its region. */
_must_check_ int occupancy_tracker_finish(struct occupancy_tracker *tracker);

#endif
