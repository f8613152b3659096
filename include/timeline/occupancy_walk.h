/*
 * The occupancies of a timeline as begins and ends, in order of time.
 *
 *	struct occupancy_walk walk;
 *	struct occupancy_step step;
 *
 *	err = occupancy_walk_init(&walk, timeline);
 *	while ((got = occupancy_walk_next(&walk, &step)) > 0) …
 *	occupancy_walk_release(&walk);
 *
 * Memory: for the occupancies that are open at one time, and 5 bytes for each that the timeline has in
 * memory. The timeline must not change meanwhile. One reader at a time.
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
	uint32_t *order;                      /* of these, by begin */
	bool *is_handed_over;
	uint32_t num_read;              /* of order */
	struct numbered_occupancy next; /* that begins */
	bool has_next;
	ARRAY(struct numbered_occupancy) open;
	/* The places of `open`: first a heap of those in use, by end, then those that are free. */
	ARRAY(uint32_t) heap;
	size_t num_open;
};

/*
 * The order in which occupancies begin, as for qsort(), of struct numbered_occupancy: at one moment
 * those come first that end at once.
 */
int occupancy_compare_begins(const void *a, const void *b);

/* 0, -ENOMEM, or negative errno of the source. */
_must_check_ int occupancy_walk_init(struct occupancy_walk *walk, const struct timeline *timeline);
void occupancy_walk_release(struct occupancy_walk *walk);

/* Returns 1 and the step, 0 after the last, or negative errno. */
_must_check_ int occupancy_walk_next(struct occupancy_walk *walk, struct occupancy_step *ret);

#endif
