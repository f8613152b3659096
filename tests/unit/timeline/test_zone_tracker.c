#include "timeline/zone_tracker.h"

#include <errno.h>

#include "timeline/timeline_builder.h"

static void assert_occupancy(const struct tracked *tracked, uint32_t id, uint32_t region,
			     uint64_t start_ns, uint64_t end_ns)
{
	const struct occupancy *occupancy = timeline_get_occupancy(tracked->timeline, id);

	assert_true(id < timeline_count_occupancy(tracked->timeline));
	assert_int_equal(occupancy->region, region);
	assert_int_equal(occupancy->start_ns, start_ns);
	assert_int_equal(occupancy->end_ns, end_ns);
}

static void zones_of_a_region_nest(void **state _unused_)
{
	struct tracked tracked;
	const struct zone *inner;

	tracked_init(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	tracked_start(&tracked, 7900, 0, 20);
	tracked_end(&tracked, 7900, 30);
	tracked_end(&tracked, 8000, 40);
	inner = timeline_get_zone(tracked.timeline, 1);
	assert_int_equal(inner->parent, 0);
	assert_int_equal(inner->start_ns, 20);
	assert_int_equal(inner->end_ns, 30);
	assert_int_equal(timeline_get_zone(tracked.timeline, 0)->parent, TIMELINE_NONE);
	assert_int_equal(timeline_get_zone(tracked.timeline, 0)->end_ns, 40);
	assert_int_equal(zone_tracker_count_open(tracked.zones), 0);
	tracked_release(&tracked);
}

static void zones_of_different_regions_are_independent(void **state _unused_)
{
	struct tracked tracked;

	tracked_init(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	tracked_start(&tracked, 80000, 1, 5);
	tracked_end(&tracked, 8000, 40);
	tracked_end(&tracked, 80000, 7);
	assert_int_equal(timeline_get_zone(tracked.timeline, 1)->parent, TIMELINE_NONE);
	tracked_release(&tracked);
}

static void a_second_zone_at_an_open_pointer_is_refused(void **state _unused_)
{
	struct tracked tracked;

	tracked_init(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	assert_int_equal(zone_tracker_start(tracked.zones, 8000, 0, 20, tracked.location), -EBUSY);
	tracked_end(&tracked, 8000, 20);
	tracked_start(&tracked, 8000, 0, 20);
	tracked_release(&tracked);
}

static void only_the_innermost_open_zone_can_end(void **state _unused_)
{
	struct tracked tracked;

	tracked_init(&tracked);
	assert_int_equal(zone_tracker_end(tracked.zones, 8000, 1), -ENOENT);
	tracked_start(&tracked, 8000, 0, 10);
	tracked_start(&tracked, 7900, 0, 20);
	assert_int_equal(zone_tracker_end(tracked.zones, 8000, 30), -EINVAL);
	assert_int_equal(zone_tracker_find_open(tracked.zones, 8000), 0);
	assert_int_equal(zone_tracker_find_open(tracked.zones, 7900), 1);
	tracked_end(&tracked, 7900, 30);
	assert_int_equal(zone_tracker_find_open(tracked.zones, 7900), TIMELINE_NONE);
	tracked_end(&tracked, 8000, 30);
	tracked_release(&tracked);
}

static void time_does_not_run_backwards_in_a_region(void **state _unused_)
{
	struct tracked tracked;

	tracked_init(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	assert_int_equal(zone_tracker_end(tracked.zones, 8000, 9), -ERANGE);
	assert_int_equal(zone_tracker_start(tracked.zones, 7900, 0, 9, tracked.location), -ERANGE);
	tracked_end(&tracked, 8000, 10);
	assert_int_equal(zone_tracker_start(tracked.zones, 8000, 0, 9, tracked.location), -ERANGE);
	tracked_release(&tracked);
}

static uint32_t start_on_track(struct tracked *tracked, uint64_t pointer, uint64_t time_ns,
			       bool is_new)
{
	bool was_new;

	assert_int_equal(zone_tracker_start(tracked->zones, pointer, 1, time_ns, tracked->location),
			 -ERANGE);
	assert_int_equal(zone_tracker_start_on_track(tracked->zones, pointer, 1, time_ns,
						     tracked->location, &was_new),
			 0);
	assert_true(was_new == is_new);
	return timeline_get_zone(tracked->timeline, zone_tracker_find_open(tracked->zones, pointer))
		->region;
}

static void where_time_goes_back_a_declared_region_has_further_tracks(void **state _unused_)
{
	struct tracked tracked;
	const struct stack_region *track;
	uint32_t stack;
	uint32_t second;

	tracked_init(&tracked);
	stack = tracked_declare(&tracked, 0x1000, 0x5000);
	assert_int_equal(timeline_add_string(tracked.timeline, "main",
					     &timeline_get_region(tracked.timeline, stack)->name),
			 0);
	tracked_start(&tracked, 0x4000, 0, 10);
	tracked_start(&tracked, 0x3000, 0, 500);
	tracked_end(&tracked, 0x3000, 600);
	second = start_on_track(&tracked, 0x3000, 210, true);
	track = timeline_get_region(tracked.timeline, second);
	assert_int_equal(track->kind, REGION_DECLARED);
	assert_true(track->end - track->start == 0x4000 && track->start > UINT32_MAX);
	assert_string_equal(timeline_get_string(tracked.timeline, track->name), "main, track 2");
	assert_int_equal(timeline_get_zone(tracked.timeline, 2)->parent, TIMELINE_NONE);
	assert_int_equal(zone_tracker_start(tracked.zones, 0x3000, 1, 220, tracked.location),
			 -EBUSY);
	tracked_end(&tracked, 0x3000, 300);
	/* In order on the second track; before its last event it would be on a third one. */
	assert_int_equal(start_on_track(&tracked, 0x3000, 310, false), second);
	assert_int_not_equal(start_on_track(&tracked, 0x2000, 100, true), second);
	tracked_end(&tracked, 0x2000, 110);
	tracked_end(&tracked, 0x3000, 320);
	/* What comes in order is on the region itself. */
	tracked_start(&tracked, 0x3000, 0, 600);
	assert_int_equal(timeline_get_zone(tracked.timeline, 5)->region, stack);
	tracked_end(&tracked, 0x3000, 610);
	tracked_end(&tracked, 0x4000, 620);
	tracked_finish(&tracked, 620);
	/* One region is in use, however many tracks it has. */
	assert_int_equal(timeline_count_in_use(tracked.timeline), 2);
	tracked_release(&tracked);
}

static void tracks_of_a_guessed_region_are_guessed_and_it_does_not_grow_for_them(
	void **state _unused_)
{
	struct tracked tracked;
	uint32_t second;

	tracked_init(&tracked);
	tracked_start(&tracked, 40000, 0, 10);
	second = start_on_track(&tracked, 32000, 5, true);
	assert_int_equal(timeline_get_region(tracked.timeline, second)->kind, REGION_IMPLICIT);
	assert_int_equal(timeline_get_region(tracked.timeline, 0)->start, 40000);
	assert_int_equal(start_on_track(&tracked, 30000, 7, false), second);
	assert_int_equal(timeline_get_zone(tracked.timeline, 2)->parent, 1);
	tracked_release(&tracked);
}

static void a_region_has_a_limited_number_of_tracks(void **state _unused_)
{
	struct tracked tracked;
	bool is_new;

	tracked_init(&tracked);
	tracked_declare(&tracked, 0x1000, 0x5000);
	tracked_start(&tracked, 0x4000, 0, 1000);
	for (uint64_t i = 2; i <= ZONE_TRACKS_MAX; i++)
		start_on_track(&tracked, 0x4000 - i * 16, 1000 - i, true);
	assert_int_equal(
		zone_tracker_start_on_track(tracked.zones, 0x2000, 1, 5, tracked.location, &is_new),
		-ERANGE);
	tracked_release(&tracked);
}

/* Written and read again, the track's bounds would come first, and the program's zone would be in them. */
static void a_program_with_high_addresses_gets_no_tracks(void **state _unused_)
{
	struct tracked tracked;
	bool is_new;

	tracked_init(&tracked);
	tracked_start(&tracked, (1ull << 56) + 0x13000, 0, 10);
	tracked_declare(&tracked, 0x1000, 0x5000);
	tracked_start(&tracked, 0x4000, 1, 100);
	assert_int_equal(zone_tracker_start_on_track(tracked.zones, 0x3000, 1, 50, tracked.location,
						     &is_new),
			 -ERANGE);
	tracked_release(&tracked);
}

static void addresses_that_a_program_has_itself_are_no_tracks(void **state _unused_)
{
	struct tracked tracked;
	bool is_new;

	tracked_init(&tracked);
	tracked_declare(&tracked, 0x1000, 0x5000);
	tracked_start(&tracked, 0x4000, 0, 1000);
	tracked_start(&tracked, (1ull << 56) + 0x4000, 0, 10);
	assert_int_equal(zone_tracker_start_on_track(tracked.zones, 0x3000, 1, 50, tracked.location,
						     &is_new),
			 -ERANGE);
	/* Nor are there tracks of these. */
	assert_int_equal(zone_tracker_start_on_track(tracked.zones, (1ull << 56) + 0x3000, 1, 5,
						     tracked.location, &is_new),
			 -ERANGE);
	tracked_release(&tracked);
}

static void open_zones_end_at_the_last_time(void **state _unused_)
{
	struct tracked tracked;

	tracked_init(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	tracked_start(&tracked, 7900, 0, 20);
	tracked_start(&tracked, 80000, 1, 90);
	assert_int_equal(zone_tracker_count_open(tracked.zones), 3);
	tracked_finish(&tracked, 50);
	assert_int_equal(timeline_get_zone(tracked.timeline, 0)->end_ns, 50);
	assert_int_equal(timeline_get_zone(tracked.timeline, 1)->end_ns, 50);
	assert_int_equal(timeline_get_zone(tracked.timeline, 2)->end_ns, 90);
	tracked_release(&tracked);
}

static void a_thread_is_back_on_its_stack_when_the_fiber_it_called_is_done(void **state _unused_)
{
	struct tracked tracked;
	uint32_t stack;
	uint32_t fiber;

	tracked_init(&tracked);
	stack = tracked_declare(&tracked, 0x1000, 0x5000);
	fiber = tracked_declare(&tracked, 0x8000, 0x9000);
	tracked_start(&tracked, 0x4000, 0, 10);
	tracked_start(&tracked, 0x8800, 0, 20);
	tracked_end(&tracked, 0x8800, 30);
	tracked_end(&tracked, 0x4000, 40);
	tracked_finish(&tracked, 40);
	assert_int_equal(timeline_count_occupancy(tracked.timeline), 3);
	assert_occupancy(&tracked, 0, stack, 10, 20);
	assert_occupancy(&tracked, 1, fiber, 20, 30);
	assert_occupancy(&tracked, 2, stack, 30, 40);
	tracked_release(&tracked);
}

static void a_thread_that_came_from_nowhere_stays_where_it_was_seen(void **state _unused_)
{
	struct tracked tracked;
	uint32_t fiber;

	tracked_init(&tracked);
	fiber = tracked_declare(&tracked, 0x8000, 0x9000);
	tracked_start(&tracked, 0x8800, 0, 20);
	tracked_end(&tracked, 0x8800, 30);
	tracked_start(&tracked, 0x8800, 0, 40);
	tracked_end(&tracked, 0x8800, 50);
	tracked_finish(&tracked, 50);
	assert_int_equal(timeline_count_occupancy(tracked.timeline), 1);
	assert_occupancy(&tracked, 0, fiber, 20, 50);
	tracked_release(&tracked);
}

static void a_stack_that_another_thread_took_is_not_returned_to(void **state _unused_)
{
	struct tracked tracked;

	tracked_init(&tracked);
	tracked_start(&tracked, 0x4000, 0, 10);
	tracked_start(&tracked, 0x80000, 0, 20);
	tracked_start(&tracked, 0x3f00, 1, 25);
	tracked_end(&tracked, 0x80000, 30);
	assert_int_equal(occupancy_tracker_find_thread(tracked.occupancies, 0), 1);
	assert_int_equal(occupancy_tracker_find_region(tracked.occupancies, 0), 1);
	tracked_release(&tracked);
}

static void regions_in_use_are_counted_in_order_of_time(void **state _unused_)
{
	struct tracked tracked;
	const struct regions_in_use *use;

	tracked_init(&tracked);
	tracked_declare(&tracked, 0x1000, 0x5000);
	tracked_start(&tracked, 0x4000, 0, 100);
	tracked_start(&tracked, 0x3000, 0, 110);
	tracked_end(&tracked, 0x3000, 120);
	tracked_end(&tracked, 0x4000, 200);
	tracked_start(&tracked, 0x80000, 1, 50);
	tracked_end(&tracked, 0x80000, 150);
	tracked_finish(&tracked, 200);
	assert_int_equal(timeline_count_in_use(tracked.timeline), 4);
	use = timeline_get_in_use(tracked.timeline, 0);
	assert_true(use[0].time_ns == 50 && use[0].number == 1 && use[0].bytes == 0);
	assert_true(use[1].time_ns == 100 && use[1].number == 2 && use[1].bytes == 0x4000);
	assert_true(use[2].time_ns == 150 && use[2].number == 1 && use[2].bytes == 0x4000);
	assert_true(use[3].time_ns == 200 && use[3].number == 0 && use[3].bytes == 0);
	tracked_release(&tracked);
}

/* Slices of a region nest, and occupancies overlap neither by region nor by thread. */
static void check_random_program(uint64_t seed)
{
	struct tracked tracked;
	uint64_t region_free[64] = {0};
	uint64_t thread_free[4] = {0};
	uint32_t count;

	tracked_init(&tracked);
	tracked_run_random_program(&tracked, seed, 2000);
	assert_int_equal(zone_tracker_count_open(tracked.zones), 0);
	for (uint32_t i = 0; i < timeline_count_zone(tracked.timeline); i++) {
		const struct zone *zone = timeline_get_zone(tracked.timeline, i);
		const struct zone *parent;

		assert_true(zone->start_ns <= zone->end_ns);
		if (zone->parent == TIMELINE_NONE)
			continue;
		parent = timeline_get_zone(tracked.timeline, zone->parent);
		assert_true(zone->parent < i && parent->region == zone->region);
		assert_true(parent->start_ns <= zone->start_ns && zone->end_ns <= parent->end_ns);
	}
	count = timeline_count_occupancy(tracked.timeline);
	for (uint32_t i = 0; i < count; i++) {
		const struct occupancy *occupancy = timeline_get_occupancy(tracked.timeline, i);

		assert_true(occupancy->region < ARRAY_LENGTH(region_free));
		assert_true(occupancy->start_ns >= region_free[occupancy->region]);
		assert_true(occupancy->start_ns >= thread_free[occupancy->thread]);
		region_free[occupancy->region] = occupancy->end_ns;
		thread_free[occupancy->thread] = occupancy->end_ns;
	}
	count = timeline_count_in_use(tracked.timeline);
	assert_int_equal(timeline_get_in_use(tracked.timeline, count - 1)->number, 0);
	assert_true(timeline_get_in_use(tracked.timeline, count - 1)->bytes == 0);
	tracked_release(&tracked);
}

static void zones_nest_and_occupancies_do_not_overlap_in_any_program(void **state _unused_)
{
	for (uint64_t seed = 1; seed <= 50; seed++)
		check_random_program(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_of_a_region_nest),
		cmocka_unit_test(zones_of_different_regions_are_independent),
		cmocka_unit_test(a_second_zone_at_an_open_pointer_is_refused),
		cmocka_unit_test(only_the_innermost_open_zone_can_end),
		cmocka_unit_test(time_does_not_run_backwards_in_a_region),
		cmocka_unit_test(where_time_goes_back_a_declared_region_has_further_tracks),
		cmocka_unit_test(
			tracks_of_a_guessed_region_are_guessed_and_it_does_not_grow_for_them),
		cmocka_unit_test(a_region_has_a_limited_number_of_tracks),
		cmocka_unit_test(a_program_with_high_addresses_gets_no_tracks),
		cmocka_unit_test(addresses_that_a_program_has_itself_are_no_tracks),
		cmocka_unit_test(open_zones_end_at_the_last_time),
		cmocka_unit_test(a_thread_is_back_on_its_stack_when_the_fiber_it_called_is_done),
		cmocka_unit_test(a_thread_that_came_from_nowhere_stays_where_it_was_seen),
		cmocka_unit_test(a_stack_that_another_thread_took_is_not_returned_to),
		cmocka_unit_test(regions_in_use_are_counted_in_order_of_time),
		cmocka_unit_test(zones_nest_and_occupancies_do_not_overlap_in_any_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
