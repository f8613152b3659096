#include "formats/open_slices.h"

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static struct open_slice *start(struct open_slices *open, uint32_t item, uint64_t end_ns)
{
	struct open_slice slice = {.item = item, .end_ns = end_ns, .has_end = end_ns != 0};
	struct open_slice *opened;

	assert_int_equal(open_slices_start(open, &slice, &opened), 0);
	return opened;
}

static void assert_next_end(struct open_slices *open, uint32_t expected)
{
	uint32_t item;

	assert_true(open_slices_end(open, &item));
	assert_int_equal(item, expected);
}

static void an_end_is_that_of_the_innermost_slice(void **state _unused_)
{
	struct open_slices open = {0};
	uint32_t item;

	start(&open, 1, 0);
	start(&open, 2, 0);
	assert_next_end(&open, 2);
	start(&open, 3, 50);
	assert_next_end(&open, 3);
	assert_next_end(&open, 1);
	assert_int_equal(open.num_strays, 0);
	assert_false(open_slices_end(&open, &item));
	assert_int_equal(open.num_strays, 1);
	open_slices_release(&open);
}

static void what_has_ended_by_then_is_left(void **state _unused_)
{
	struct open_slices open = {0};

	start(&open, 1, 0);
	start(&open, 2, 50);
	start(&open, 3, 30);
	assert_false(open_slices_leave(&open, 29));
	assert_true(open_slices_leave(&open, 30));
	assert_false(open_slices_leave(&open, 30));
	assert_true(open_slices_leave(&open, 90));
	assert_false(open_slices_leave(&open, UINT64_MAX));
	assert_next_end(&open, 1);
	open_slices_release(&open);
}

static void a_slice_ends_at_the_latest_with_the_one_around_it(void **state _unused_)
{
	struct open_slices open = {.rounding_ns = 5};

	start(&open, 1, 100);
	assert_int_equal(start(&open, 2, 50)->end_ns, 50);
	assert_int_equal(start(&open, 3, 55)->end_ns, 50);
	assert_int_equal(open.num_truncated, 0);
	assert_int_equal(start(&open, 4, 56)->end_ns, 50);
	assert_int_equal(open.num_truncated, 1);
	while (open_slices_leave(&open, 50))
		;
	assert_int_equal(open.items.length, 1);
	open_slices_release(&open);
}

static void a_slice_whose_end_is_to_come_ends_with_the_one_around_it(void **state _unused_)
{
	struct open_slices open = {0};
	const struct open_slice *inner;
	uint32_t item;

	start(&open, 1, UINT64_MAX);
	inner = start(&open, 2, 0);
	assert_true(inner->has_end);
	assert_int_equal(inner->end_ns, UINT64_MAX);
	assert_int_equal(open.num_truncated, 0);
	assert_false(open_slices_take_unterminated(&open, &item));
	assert_int_equal(open.num_unterminated, 0);
	open_slices_release(&open);
}

static void what_has_no_end_is_left_at_the_end_of_the_track(void **state _unused_)
{
	struct open_slices open = {0};
	uint32_t item;

	start(&open, 1, 0);
	start(&open, 2, 0);
	start(&open, 3, 50);
	assert_true(open_slices_take_unterminated(&open, &item));
	assert_int_equal(item, 2);
	assert_true(open_slices_take_unterminated(&open, &item));
	assert_int_equal(item, 1);
	assert_false(open_slices_take_unterminated(&open, &item));
	assert_int_equal(open.num_unterminated, 2);
	open_slices_release(&open);
}

static void what_is_too_deep_is_left_out(void **state _unused_)
{
	struct open_slices open = {.max_depth = 2};

	start(&open, 1, 50);
	start(&open, 2, 20);
	assert_null(start(&open, 3, 10));
	assert_int_equal(open.num_too_deep, 1);
	assert_int_equal(open.items.length, 2);
	assert_true(open_slices_leave(&open, 20));
	assert_non_null(start(&open, 4, 40));
	open_slices_release(&open);
}

/* ---- zones ---- */

static struct timeline *make_timeline(struct zone *ret_like)
{
	struct timeline *timeline = timeline_new();
	struct timeline_process process = {.pid = 1};
	struct timeline_thread thread = {.tid = 1};
	struct stack_region region = open_slices_get_region(7);
	struct source_location location = {0};

	assert_non_null(timeline);
	assert_int_equal(timeline_add_process(timeline, &process, &thread.process), 0);
	assert_int_equal(timeline_add_thread(timeline, &thread, &ret_like->thread), 0);
	assert_int_equal(timeline_add_region(timeline, &region, &ret_like->region), 0);
	assert_int_equal(timeline_add_bytes(timeline, "zone", 4, &location.name), 0);
	assert_int_equal(timeline_add_location(timeline, &location, &ret_like->location), 0);
	return timeline;
}

static void zones_lie_in_those_around_them(void **state _unused_)
{
	struct zone like = {.start_ns = 10};
	struct open_slices open = {0};
	struct timeline *timeline = make_timeline(&like);
	const struct zone *zone;

	start(&open, 0, 90);
	like.pointer = 1000;
	assert_int_equal(open_slices_add_zone(&open, timeline, &like), 0);
	start(&open, 0, 95);
	like.start_ns = 20;
	like.pointer = 900;
	assert_int_equal(open_slices_add_zone(&open, timeline, &like), 0);

	zone = timeline_get_zone(timeline, 0);
	assert_int_equal(zone->parent, TIMELINE_NONE);
	assert_int_equal(zone->start_ns, 10);
	assert_int_equal(zone->end_ns, 90);
	assert_int_equal(zone->pointer, 1000);
	assert_string_equal(timeline_get_string(timeline, zone->name), "zone");
	zone = timeline_get_zone(timeline, 1);
	assert_int_equal(zone->parent, 0);
	assert_int_equal(zone->start_ns, 20);
	assert_int_equal(zone->end_ns, 90);
	assert_int_equal(zone->pointer, 900);
	open_slices_release(&open);
	timeline_free(timeline);
}

static void a_zone_whose_end_is_to_come_has_no_duration(void **state _unused_)
{
	struct zone like = {.start_ns = 10};
	struct open_slices open = {0};
	struct timeline *timeline = make_timeline(&like);

	start(&open, 0, 0);
	assert_int_equal(open_slices_add_zone(&open, timeline, &like), 0);
	assert_int_equal(timeline_get_zone(timeline, 0)->end_ns, 10);
	open_slices_release(&open);
	timeline_free(timeline);
}

static void synthetic_regions_do_not_overlap(void **state _unused_)
{
	assert_int_equal(open_slices_get_region(7).end, open_slices_get_region(8).start);
	assert_true(open_slices_get_region(0).start > UINT64_C(1) << 47);
	assert_true(open_slices_get_region(UINT32_MAX).start > open_slices_get_region(8).start);
}

static void pointers_go_down_and_stay_in_the_region(void **state _unused_)
{
	struct open_slices open = {0};
	struct stack_region region = open_slices_get_region(7);
	uint64_t last = region.end;

	for (int depth = 0; depth < 1000; depth++) {
		start(&open, 0, 0);
		assert_true(open_slices_get_pointer(&open, &region) < last);
		last = open_slices_get_pointer(&open, &region);
	}
	assert_true(last > region.start);
	for (int depth = 1000; depth < 100000; depth++)
		start(&open, 0, 0);
	assert_int_equal(open_slices_get_pointer(&open, &region), region.start);
	open_slices_release(&open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_is_that_of_the_innermost_slice),
		cmocka_unit_test(what_has_ended_by_then_is_left),
		cmocka_unit_test(a_slice_ends_at_the_latest_with_the_one_around_it),
		cmocka_unit_test(a_slice_whose_end_is_to_come_ends_with_the_one_around_it),
		cmocka_unit_test(what_has_no_end_is_left_at_the_end_of_the_track),
		cmocka_unit_test(what_is_too_deep_is_left_out),
		cmocka_unit_test(zones_lie_in_those_around_them),
		cmocka_unit_test(a_zone_whose_end_is_to_come_has_no_duration),
		cmocka_unit_test(synthetic_regions_do_not_overlap),
		cmocka_unit_test(pointers_go_down_and_stay_in_the_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
