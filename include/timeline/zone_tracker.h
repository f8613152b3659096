/*
 * Tracks the starts and ends of zones, per stack region: keeps the open zones of each region, and
 * from these also knows the thread of each region and the number of regions in use.
 *
 * Events of one region must be in order of time; those of different regions may be in any. A region
 * whose events are not may have further tracks, each a region of its own to the timeline, in which
 * they are. Every process has its own addresses: a tracker serves one.
 *
 * If the timeline has a consumer, it gets the zones, and its errors are returned here.
 *
 * A zone walk reads them back as starts and ends.
 */
#ifndef TIMELINE_ZONE_TRACKER_H
#define TIMELINE_ZONE_TRACKER_H

#include "timeline/occupancy_walk.h"
#include "timeline/region_map.h"
#include "timeline/timeline.h"

struct zone_tracker;

/*
 * All three are borrowed and outlive the tracker; the occupancy tracker may be shared with other
 * sources of evidence. NULL when out of memory.
 */
struct zone_tracker *zone_tracker_new(struct timeline *timeline, struct region_map *regions,
				      struct occupancy_tracker *occupancies);
void zone_tracker_free(struct zone_tracker *tracker);
static inline void zone_tracker_freep(struct zone_tracker **tracker)
{
	zone_tracker_free(*tracker);
}

/*
 * Start a zone on the region that holds the pointer.
 *
 * Returns 0, -EBUSY (a zone with this pointer is open), -ERANGE (the time is before the region's
 * last event) or -ENOMEM.
 */
_must_check_ int zone_tracker_start(struct zone_tracker *tracker, uint64_t pointer, uint32_t thread,
				    uint64_t time_ns, uint32_t location);

/*
 * The same, after -ERANGE, on the first further track of the region whose last event is not later:
 * two threads may have reported one stack by turns, each in order.
 *
 * ret_is_new  whether the track was made for it
 *
 * Returns the same; -ERANGE also if there would be more than ZONE_TRACKS_MAX.
 */
#define ZONE_TRACKS_MAX 16
_must_check_ int zone_tracker_start_on_track(struct zone_tracker *tracker, uint64_t pointer,
					     uint32_t thread, uint64_t time_ns, uint32_t location,
					     bool *ret_is_new);

/*
 * End the zone that is open at the pointer.
 *
 * Returns 0, -ENOENT (no zone is), -EINVAL (others are open inside it), -ERANGE or -ENOMEM.
 */
_must_check_ int zone_tracker_end(struct zone_tracker *tracker, uint64_t pointer, uint64_t time_ns);

/*
 * For incomplete records: end the zones inside the one that is open at the pointer. If the time is
 * before the last event of their region, that event's time counts.
 *
 * ret_num  number of ended zones
 *
 * Returns 0, -ENOMEM, or the error of the consumer.
 */
_must_check_ int zone_tracker_end_inside(struct zone_tracker *tracker, uint64_t pointer,
					 uint64_t time_ns, uint64_t *ret_num);

/* The zone that is open at the pointer, or TIMELINE_NONE. */
uint32_t zone_tracker_find_open(const struct zone_tracker *tracker, uint64_t pointer);

/* How many zones are open. */
size_t zone_tracker_count_open(const struct zone_tracker *tracker);

/*
 * End the zones that are still open, at `time_ns` or at the last event of their region, if that is
 * later. Call before occupancy_tracker_finish(). 0 or -ENOMEM.
 */
_must_check_ int zone_tracker_finish(struct zone_tracker *tracker, uint64_t time_ns);

/*
 * The zones of a timeline as starts and ends, for writers of such records. Those of one region are
 * in order of time and nest. Events of different regions are interleaved as their zones were added.
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
	uint32_t next_region; /* when all zones have started: whose open zones end next */
};

/* 0 or -ENOMEM. */
_must_check_ int zone_walk_init(struct zone_walk *walk, const struct timeline *timeline);
void zone_walk_release(struct zone_walk *walk);

/* False if no step is left. */
bool zone_walk_next(struct zone_walk *walk, struct zone_step *ret);

#endif
