#include "timeline/occupancy_walk.h"

#include "timeline/timeline_builder.h"

static struct occupancy_tracker *tracker_new(struct timeline **timeline)
{
	struct occupancy_tracker *tracker;

	*timeline = timeline_new();
	tracker = occupancy_tracker_new(*timeline);
	assert_true(*timeline && tracker);
	return tracker;
}

static void assert_occupancy(const struct timeline *timeline, uint32_t id, uint32_t thread,
			     uint32_t region, uint64_t start_ns, uint64_t end_ns)
{
	const struct occupancy *occupancy = timeline_get_occupancy(timeline, id);

	assert_true(id < timeline_count_occupancy(timeline));
	assert_int_equal(occupancy->thread, thread);
	assert_int_equal(occupancy->region, region);
	assert_int_equal(occupancy->start_ns, start_ns);
	assert_int_equal(occupancy->end_ns, end_ns);
}

static void a_thread_stays_until_it_is_seen_elsewhere(void **state _unused_)
{
	struct timeline *timeline;
	struct occupancy_tracker *tracker = tracker_new(&timeline);

	assert_int_equal(occupancy_tracker_enter(tracker, 7, 1, 64, 100), 0);
	assert_int_equal(occupancy_tracker_enter(tracker, 7, 1, 32, 150), 0);
	assert_int_equal(occupancy_tracker_enter(tracker, 7, 2, 0, 200), 0);
	assert_int_equal(timeline_count_occupancy(timeline), 1);
	assert_occupancy(timeline, 0, 7, 1, 100, 200);
	assert_int_equal(timeline_get_occupancy(timeline, 0)->pointer, 64);
	assert_int_equal(occupancy_tracker_find_region(tracker, 7), 2);
	assert_int_equal(occupancy_tracker_find_thread(tracker, 1), TIMELINE_NONE);
	occupancy_tracker_free(tracker);
	timeline_free(timeline);
}

static void a_region_changes_hands_when_another_thread_is_seen_there(void **state _unused_)
{
	struct timeline *timeline;
	struct occupancy_tracker *tracker = tracker_new(&timeline);

	assert_int_equal(occupancy_tracker_enter(tracker, 0, 5, 0, 100), 0);
	assert_int_equal(occupancy_tracker_enter(tracker, 1, 5, 0, 300), 0);
	assert_occupancy(timeline, 0, 0, 5, 100, 300);
	assert_int_equal(occupancy_tracker_find_thread(tracker, 5), 1);
	assert_int_equal(occupancy_tracker_find_region(tracker, 0), TIMELINE_NONE);
	occupancy_tracker_free(tracker);
	timeline_free(timeline);
}

static void the_end_is_when_the_thread_was_last_seen(void **state _unused_)
{
	struct timeline *timeline;
	struct occupancy_tracker *tracker = tracker_new(&timeline);

	assert_int_equal(occupancy_tracker_enter(tracker, 0, 0, 0, 100), 0);
	occupancy_tracker_touch(tracker, 0, 180);
	occupancy_tracker_touch(tracker, 0, 170);
	occupancy_tracker_touch(tracker, 3, 500);
	assert_int_equal(occupancy_tracker_finish(tracker), 0);
	assert_int_equal(timeline_count_occupancy(timeline), 1);
	assert_occupancy(timeline, 0, 0, 0, 100, 180);
	occupancy_tracker_free(tracker);
	timeline_free(timeline);
}

static void a_thread_that_leaves_is_nowhere(void **state _unused_)
{
	struct timeline *timeline;
	struct occupancy_tracker *tracker = tracker_new(&timeline);

	assert_int_equal(occupancy_tracker_leave(tracker, 9, 50), 0);
	assert_int_equal(occupancy_tracker_enter(tracker, 0, 0, 0, 100), 0);
	assert_int_equal(occupancy_tracker_leave(tracker, 0, 130), 0);
	assert_int_equal(occupancy_tracker_leave(tracker, 0, 140), 0);
	assert_int_equal(occupancy_tracker_finish(tracker), 0);
	assert_int_equal(timeline_count_occupancy(timeline), 1);
	assert_occupancy(timeline, 0, 0, 0, 100, 130);
	occupancy_tracker_free(tracker);
	timeline_free(timeline);
}

/* Whatever comes in whatever order: no two occupancies of a region or of a thread overlap. */
static void occupancies_never_overlap(void **state _unused_)
{
	enum { NUM_THREADS = 5, NUM_REGIONS = 7, NUM_STEPS = 20000 };
	struct timeline *timeline;
	struct occupancy_tracker *tracker = tracker_new(&timeline);
	uint64_t thread_free[NUM_THREADS] = {0};
	uint64_t region_free[NUM_REGIONS] = {0};
	uint64_t random = 4711;

	for (uint32_t i = 0; i < NUM_STEPS; i++) {
		uint32_t thread = builder_random(&random, NUM_THREADS);
		uint32_t region = builder_random(&random, NUM_REGIONS);
		uint64_t time_ns = i + builder_random(&random, 50);

		if (builder_random(&random, 10))
			assert_int_equal(
				occupancy_tracker_enter(tracker, thread, region, 1, time_ns), 0);
		else
			assert_int_equal(occupancy_tracker_leave(tracker, thread, time_ns), 0);
	}
	assert_int_equal(occupancy_tracker_finish(tracker), 0);
	assert_true(timeline_count_occupancy(timeline) > NUM_STEPS / 2);
	for (uint32_t i = 0; i < timeline_count_occupancy(timeline); i++) {
		const struct occupancy *occupancy = timeline_get_occupancy(timeline, i);

		assert_true(occupancy->start_ns <= occupancy->end_ns);
		assert_true(occupancy->start_ns >= thread_free[occupancy->thread]);
		assert_true(occupancy->start_ns >= region_free[occupancy->region]);
		thread_free[occupancy->thread] = occupancy->end_ns;
		region_free[occupancy->region] = occupancy->end_ns;
	}
	occupancy_tracker_free(tracker);
	timeline_free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_stays_until_it_is_seen_elsewhere),
		cmocka_unit_test(a_region_changes_hands_when_another_thread_is_seen_there),
		cmocka_unit_test(the_end_is_when_the_thread_was_last_seen),
		cmocka_unit_test(a_thread_that_leaves_is_nowhere),
		cmocka_unit_test(occupancies_never_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
