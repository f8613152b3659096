/*
 * A process's trackers on a new timeline, and random programs that feed them.
 */
#ifndef TIMELINE_BUILDER_H
#define TIMELINE_BUILDER_H

#include "base/attributes.h"
#include "timeline/zone_tracker.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct tracked {
	struct timeline *timeline;
	struct region_map *regions;
	struct occupancy_tracker *occupancies;
	struct zone_tracker *zones;
	uint32_t location;
};

static inline uint32_t tracked_add_thread(struct tracked *tracked, uint64_t tid)
{
	struct timeline_thread thread = {.tid = tid};
	uint32_t id;

	assert_int_equal(timeline_add_thread(tracked->timeline, &thread, &id), 0);
	return id;
}

static inline void tracked_init(struct tracked *tracked)
{
	struct timeline_process process = {.pid = 1};
	struct source_location location = {.line = 1};
	uint32_t id;

	tracked->timeline = timeline_new();
	assert_non_null(tracked->timeline);
	assert_int_equal(timeline_add_process(tracked->timeline, &process, &id), 0);
	assert_int_equal(timeline_add_string(tracked->timeline, "zone", &location.name), 0);
	assert_int_equal(timeline_add_location(tracked->timeline, &location, &tracked->location),
			 0);
	tracked->regions = region_map_new(tracked->timeline, id);
	tracked->occupancies = occupancy_tracker_new(tracked->timeline);
	tracked->zones =
		zone_tracker_new(tracked->timeline, tracked->regions, tracked->occupancies);
	assert_true(tracked->regions && tracked->occupancies && tracked->zones);
}

static inline void tracked_release(struct tracked *tracked)
{
	zone_tracker_free(tracked->zones);
	occupancy_tracker_free(tracked->occupancies);
	region_map_free(tracked->regions);
	timeline_free(tracked->timeline);
}

static inline void tracked_finish(struct tracked *tracked, uint64_t time_ns)
{
	assert_int_equal(zone_tracker_finish(tracked->zones, time_ns), 0);
	assert_int_equal(occupancy_tracker_finish(tracked->occupancies), 0);
}

static inline uint32_t tracked_declare(struct tracked *tracked, uint64_t start, uint64_t end)
{
	uint32_t region;

	assert_int_equal(region_map_declare(tracked->regions, start, end, STRING_EMPTY, &region),
			 0);
	return region;
}

static inline void tracked_start(struct tracked *tracked, uint64_t pointer, uint32_t thread,
				 uint64_t time_ns)
{
	assert_int_equal(
		zone_tracker_start(tracked->zones, pointer, thread, time_ns, tracked->location), 0);
}

static inline void tracked_end(struct tracked *tracked, uint64_t pointer, uint64_t time_ns)
{
	assert_int_equal(zone_tracker_end(tracked->zones, pointer, time_ns), 0);
}

/* xorshift: the same program for the same seed everywhere. */
static inline uint32_t builder_random(uint64_t *state, uint32_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 32) % below;
}

/*
 * Fibers with 64 KiB stacks that any of four threads goes on with: every step, on some region a
 * zone starts or the innermost one ends. Times stand still now and then.
 */
static inline void tracked_run_random_program(struct tracked *tracked, uint64_t seed,
					      uint32_t num_steps)
{
	enum { NUM_FIBERS = 6, NUM_THREADS = 4, MAX_DEPTH = 20 };
	uint64_t pointers[NUM_FIBERS][MAX_DEPTH];
	uint32_t depths[NUM_FIBERS] = {0};
	uint64_t time_ns = 1000;
	uint64_t state = seed * 2 + 1;

	for (uint32_t i = 0; i < NUM_THREADS; i++)
		assert_int_equal(tracked_add_thread(tracked, 100 + i), i);
	for (uint32_t i = 0; i < NUM_FIBERS / 2; i++)
		tracked_declare(tracked, 0x100000 * (i + 1), 0x100000 * (i + 1) + 0x10000);
	for (uint32_t step = 0; step < num_steps; step++) {
		uint32_t fiber = builder_random(&state, NUM_FIBERS);
		uint32_t *depth = &depths[fiber];

		time_ns += builder_random(&state, 3);
		if (*depth < MAX_DEPTH && (!*depth || builder_random(&state, 2))) {
			uint64_t pointer = 0x100000 * (fiber + 1) + 0xff00 - *depth * 0x200u -
					   builder_random(&state, 16) * 8;

			tracked_start(tracked, pointer, builder_random(&state, NUM_THREADS),
				      time_ns);
			pointers[fiber][(*depth)++] = pointer;
		} else {
			tracked_end(tracked, pointers[fiber][--*depth], time_ns);
		}
	}
	tracked_finish(tracked, time_ns);
}

#endif
