/*
 * Two tables with the same information from both sides: a thread's present occupancy, and the
 * thread on each region. They change together in occupancy_tracker_enter() and end_occupancy()
 * only.
 *
 * Evidence may be late: samples and zones are from different sources, each in order, but not with
 * each other. An occupancy that has ended is never changed, so that it can be handed to a consumer
 * at once. Instead each side remembers from when on it is free, and evidence with an earlier time
 * starts an occupancy then. Occupancies thus never overlap, at the price that a short one may
 * shrink to nothing.
 */
#include "timeline/occupancy_walk.h"

#include <errno.h>

#include "base/array.h"

struct thread_state {
	struct occupancy present; /* region TIMELINE_NONE: on none; its end is the last evidence */
	uint64_t free_from_ns;    /* earliest start of its next occupancy */
};

struct occupancy_state {
	uint32_t thread; /* TIMELINE_NONE: no thread */
	uint64_t free_from_ns;
};

struct occupancy_tracker {
	struct timeline *timeline;
	ARRAY(struct thread_state) threads;
	ARRAY(struct occupancy_state) regions;
};

struct occupancy_tracker *occupancy_tracker_new(struct timeline *timeline)
{
	struct occupancy_tracker *tracker = calloc(1, sizeof(*tracker));

	if (tracker)
		tracker->timeline = timeline;
	return tracker;
}

void occupancy_tracker_free(struct occupancy_tracker *tracker)
{
	if (!tracker)
		return;
	array_release(&tracker->threads);
	array_release(&tracker->regions);
	free(tracker);
}

/* Both tables grow to the ids that are asked for; ids are dense. */
static int make_room(struct occupancy_tracker *tracker, uint32_t thread, uint32_t region)
{
	while (tracker->threads.length <= thread) {
		struct thread_state *state = array_add(&tracker->threads);

		if (!state)
			return -ENOMEM;
		state->present.region = TIMELINE_NONE;
	}
	while (tracker->regions.length <= region) {
		struct occupancy_state *state = array_add(&tracker->regions);

		if (!state)
			return -ENOMEM;
		state->thread = TIMELINE_NONE;
	}
	return 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int keep(struct occupancy_tracker *tracker, const struct occupancy *occupancy)
{
	const struct timeline_consumer *consumer = timeline_get_consumer(tracker->timeline);

	return consumer ? consumer->end_occupancy(consumer->context, occupancy)
			: timeline_add_occupancy(tracker->timeline, occupancy, NULL);
}

static int emit_start(struct occupancy_tracker *tracker, const struct occupancy *occupancy)
{
	const struct timeline_consumer *consumer = timeline_get_consumer(tracker->timeline);

	return consumer ? consumer->start_occupancy(consumer->context, occupancy) : 0;
}

/* End the thread's occupancy, not before its start. */
static int end_occupancy(struct occupancy_tracker *tracker, uint32_t thread, uint64_t time_ns)
{
	struct thread_state *state = &tracker->threads.items[thread];
	struct occupancy_state *region;
	int err;

	if (state->present.region == TIMELINE_NONE)
		return 0;
	state->present.end_ns = later(time_ns, state->present.start_ns);
	err = keep(tracker, &state->present);
	if (err)
		return err;
	region = &tracker->regions.items[state->present.region];
	region->thread = TIMELINE_NONE;
	region->free_from_ns = state->present.end_ns;
	state->free_from_ns = state->present.end_ns;
	state->present.region = TIMELINE_NONE;
	return 0;
}

int occupancy_tracker_enter(struct occupancy_tracker *tracker, uint32_t thread, uint32_t region,
			    uint64_t pointer, uint64_t time_ns)
{
	int err = make_room(tracker, thread, region);
	struct thread_state *state;
	struct occupancy_state *place;

	if (err)
		return err;
	state = &tracker->threads.items[thread];
	place = &tracker->regions.items[region];
	/* Seen on its known region: the occupancy goes on, with its first pointer. */
	if (place->thread == thread) {
		occupancy_tracker_touch(tracker, region, time_ns);
		return 0;
	}
	err = end_occupancy(tracker, thread, time_ns);
	if (err)
		return err;
	if (place->thread != TIMELINE_NONE) {
		err = end_occupancy(tracker, place->thread, time_ns);
		if (err)
			return err;
	}
	time_ns = later(time_ns, later(state->free_from_ns, place->free_from_ns));
	state->present = (struct occupancy){.start_ns = time_ns,
					    .end_ns = time_ns,
					    .pointer = pointer,
					    .region = region,
					    .thread = thread};
	place->thread = thread;
	return emit_start(tracker, &state->present);
}

int occupancy_tracker_leave(struct occupancy_tracker *tracker, uint32_t thread, uint64_t time_ns)
{
	return thread < tracker->threads.length ? end_occupancy(tracker, thread, time_ns) : 0;
}

void occupancy_tracker_touch(struct occupancy_tracker *tracker, uint32_t region, uint64_t time_ns)
{
	uint32_t thread = occupancy_tracker_find_thread(tracker, region);
	struct occupancy *present;

	if (thread == TIMELINE_NONE)
		return;
	present = &tracker->threads.items[thread].present;
	present->end_ns = later(present->end_ns, time_ns);
}

uint32_t occupancy_tracker_find_thread(const struct occupancy_tracker *tracker, uint32_t region)
{
	return region < tracker->regions.length ? tracker->regions.items[region].thread
						: TIMELINE_NONE;
}

uint32_t occupancy_tracker_find_region(const struct occupancy_tracker *tracker, uint32_t thread)
{
	return thread < tracker->threads.length ? tracker->threads.items[thread].present.region
						: TIMELINE_NONE;
}

const struct occupancy *occupancy_tracker_find_present(const struct occupancy_tracker *tracker,
						       uint32_t thread)
{
	return occupancy_tracker_find_region(tracker, thread) == TIMELINE_NONE
		       ? NULL
		       : &tracker->threads.items[thread].present;
}

/* Until the last evidence, not until the end of the recording: later events are unknown. */
int occupancy_tracker_finish(struct occupancy_tracker *tracker)
{
	int err;

	for (uint32_t thread = 0; thread < tracker->threads.length; thread++) {
		err = end_occupancy(tracker, thread, tracker->threads.items[thread].present.end_ns);
		if (err)
			return err;
	}
	return 0;
}
