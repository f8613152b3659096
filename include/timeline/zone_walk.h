/*
 * The zones of a timeline as begins and ends, in an order in which those of one region are in
 * order of time and nest: what a writer of begin and end records needs. Events of different
 * regions are interleaved as their zones were added.
 *
 *	struct zone_walk walk;
 *	struct zone_step step;
 *
 *	if (zone_walk_init(&walk, timeline)) …
 *	while (zone_walk_next(&walk, &step)) …
 *	zone_walk_release(&walk);
 *
 * Memory: 4 bytes a region. The timeline must not change meanwhile.
 */
#ifndef TIMELINE_ZONE_WALK_H
#define TIMELINE_ZONE_WALK_H

#include "timeline/timeline.h"

struct zone_step {
	uint32_t zone;
	bool is_end;
	uint64_t time_ns;
	uint64_t fill_bytes; /* of the zone's region from this moment on */
};

struct zone_walk {
	const struct timeline *timeline;
	uint32_t *innermost; /* open zone by region */
	uint32_t next_zone;
	uint32_t next_region; /* when all zones have begun: whose open zones end next */
};

/* 0 or -ENOMEM. */
_must_check_ int zone_walk_init(struct zone_walk *walk, const struct timeline *timeline);
void zone_walk_release(struct zone_walk *walk);

/* False when there is no step left. */
bool zone_walk_next(struct zone_walk *walk, struct zone_step *ret);

#endif
