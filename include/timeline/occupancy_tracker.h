/*
 * Who is on which stack region: turns single pieces of evidence ("thread T was seen on region R
 * at time t") into occupancies.
 *
 * A thread stays on a region until it is seen on another one, until another thread is seen there,
 * or until it leaves; at the end, until it was last seen. Evidence that comes late (its time lies
 * inside what is already known) never makes occupancies overlap: their bounds are moved.
 */
#ifndef TIMELINE_OCCUPANCY_TRACKER_H
#define TIMELINE_OCCUPANCY_TRACKER_H

#include "timeline/timeline.h"

struct occupancy_tracker;

/* Functions return 0, -ENOMEM, or what the timeline's consumer returned. */

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

/* TIMELINE_NONE when there is none. */
uint32_t occupancy_tracker_find_thread(const struct occupancy_tracker *tracker, uint32_t region);
uint32_t occupancy_tracker_find_region(const struct occupancy_tracker *tracker, uint32_t thread);

/* The one that the thread is on, up to the last evidence of it; NULL: none. Until the tracker's next call. */
const struct occupancy *occupancy_tracker_find_present(const struct occupancy_tracker *tracker,
						       uint32_t thread);

/* End every occupancy when its thread was last seen on its region. */
_must_check_ int occupancy_tracker_finish(struct occupancy_tracker *tracker);

#endif
