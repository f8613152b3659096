/*
 * Timelines whose stack regions threads occupy at random.
 */
#ifndef OCCUPANCY_BUILDER_H
#define OCCUPANCY_BUILDER_H

#include <stdlib.h>

#include "base/attributes.h"

/* clang-format off */
#include "timeline/occupancy_walk.h"
#include "unit.h"
/* clang-format on */

#define NUM_REGIONS 9
#define NUM_THREADS 5

static inline struct timeline *make_timeline(void)
{
	struct timeline *timeline = timeline_new();
	struct stack_region region = {0};

	for (uint32_t i = 0; i < NUM_REGIONS; i++)
		assert_int_equal(timeline_add_region(timeline, &region, NULL), 0);
	return timeline;
}

static inline void enter(struct occupancy_tracker *tracker, uint32_t thread, uint32_t region,
			 uint64_t time_ns)
{
	assert_int_equal(occupancy_tracker_enter(tracker, thread, region, 0, time_ns), 0);
}

/* What a tracker makes of evidence, of which some comes late; into the timeline or its consumer. */
static inline void occupy_at_random(struct timeline *timeline, uint32_t seed)
{
	struct occupancy_tracker *tracker = occupancy_tracker_new(timeline);
	uint64_t time_ns = 100;

	srand(seed);
	for (size_t i = 0; i < 400; i++) {
		uint32_t thread = (uint32_t)(rand() % NUM_THREADS);

		time_ns += (uint64_t)(rand() % 4);
		if (rand() % 10)
			enter(tracker, thread, (uint32_t)(rand() % NUM_REGIONS),
			      time_ns - (uint64_t)(rand() % 3));
		else
			assert_int_equal(occupancy_tracker_leave(tracker, thread, time_ns), 0);
	}
	assert_int_equal(occupancy_tracker_finish(tracker), 0);
	occupancy_tracker_free(tracker);
}

#endif
