#include "timeline/region_map.h"

#include <errno.h>

#include "timeline/timeline_builder.h"

static uint32_t find(struct tracked *tracked, uint64_t pointer)
{
	uint32_t region;

	assert_int_equal(region_map_find(tracked->regions, pointer, &region), 0);
	return region;
}

static const char *name_of(struct tracked *tracked, uint32_t region)
{
	return timeline_get_string(tracked->timeline,
				   timeline_get_region(tracked->timeline, region)->name);
}

static void a_pointer_belongs_to_the_declared_region_around_it(void **state _unused_)
{
	struct tracked tracked;
	uint32_t low;
	uint32_t high;

	tracked_init(&tracked);
	high = tracked_declare(&tracked, 0x9000, 0xb000);
	low = tracked_declare(&tracked, 0x2000, 0x4000);
	assert_int_equal(find(&tracked, 0x2000), low);
	assert_int_equal(find(&tracked, 0x3fff), low);
	assert_int_equal(find(&tracked, 0x9001), high);
	assert_int_equal(timeline_count_region(tracked.timeline), 2);
	tracked_release(&tracked);
}

static void a_pointer_to_the_end_is_one_to_an_empty_stack(void **state _unused_)
{
	struct tracked tracked;
	uint32_t region;

	tracked_init(&tracked);
	region = tracked_declare(&tracked, 0x2000, 0x4000);
	assert_int_equal(find(&tracked, 0x4000), region);
	tracked_release(&tracked);
}

static void where_two_regions_touch_the_pointer_is_in_the_upper_one(void **state _unused_)
{
	struct tracked tracked;
	uint32_t upper;

	tracked_init(&tracked);
	tracked_declare(&tracked, 0x2000, 0x4000);
	upper = tracked_declare(&tracked, 0x4000, 0x6000);
	assert_int_equal(find(&tracked, 0x4000), upper);
	tracked_release(&tracked);
}

static void the_end_of_a_declared_region_is_rounded_up(void **state _unused_)
{
	struct tracked tracked;
	uint32_t region;

	tracked_init(&tracked);
	region = tracked_declare(&tracked, 4000, 5000);
	assert_int_equal(timeline_get_region(tracked.timeline, region)->start, 4000);
	assert_int_equal(timeline_get_region(tracked.timeline, region)->end, 8192);
	assert_string_equal(name_of(&tracked, region), "Stack @8192");
	tracked_release(&tracked);
}

static void exact_bounds_are_kept_and_may_share_a_page(void **state _unused_)
{
	struct stack_region wanted = {.start = 0x2000, .end = 0x2800, .kind = REGION_PARTIAL};
	struct tracked tracked;
	uint32_t lower;
	uint32_t upper;

	tracked_init(&tracked);
	assert_int_equal(region_map_declare_exact(tracked.regions, &wanted, &lower), 0);
	assert_int_equal(timeline_get_region(tracked.timeline, lower)->end, 0x2800);
	assert_int_equal(timeline_get_region(tracked.timeline, lower)->kind, REGION_PARTIAL);
	wanted.start = 0x2800;
	wanted.end = 0x3000;
	assert_int_equal(region_map_declare_exact(tracked.regions, &wanted, &upper), 0);
	assert_int_equal(find(&tracked, 0x27f8), lower);
	assert_int_equal(find(&tracked, 0x2800), upper);
	wanted.start = 0x27ff;
	assert_int_equal(region_map_declare_exact(tracked.regions, &wanted, &upper), -EEXIST);
	assert_int_equal(upper, lower);
	tracked_release(&tracked);
}

static void declared_regions_must_not_overlap(void **state _unused_)
{
	static const uint64_t bounds[][2] = {
		{0x2000, 0x4000}, {0x3000, 0x5000}, {0x1000, 0x3000},          {0x2800, 0x3000},
		{0x1000, 0x9000}, {0x3fff, 0x4001}, {0x1000, 0x1001 + 0x1000},
	};
	struct tracked tracked;
	uint32_t region;
	uint32_t other;

	tracked_init(&tracked);
	region = tracked_declare(&tracked, 0x2000, 0x4000);
	for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
		assert_int_equal(region_map_declare(tracked.regions, bounds[i][0], bounds[i][1],
						    STRING_EMPTY, &other),
				 -EEXIST);
		assert_int_equal(other, region);
	}
	tracked_declare(&tracked, 0x1000, 0x2000);
	tracked_declare(&tracked, 0x4000, 0x4001);
	tracked_release(&tracked);
}

static void a_removed_region_makes_room_for_another(void **state _unused_)
{
	struct tracked tracked;
	uint32_t first;
	uint32_t second;

	tracked_init(&tracked);
	first = tracked_declare(&tracked, 0x2000, 0x4000);
	region_map_remove(tracked.regions, first);
	second = tracked_declare(&tracked, 0x3000, 0x5000);
	assert_int_not_equal(first, second);
	assert_int_equal(find(&tracked, 0x3000), second);
	tracked_release(&tracked);
}

static void an_implicit_region_ends_at_the_next_page_and_has_its_first_pointers_name(
	void **state _unused_)
{
	struct tracked tracked;
	uint32_t region;

	tracked_init(&tracked);
	region = find(&tracked, 1048512);
	assert_int_equal(timeline_get_region(tracked.timeline, region)->end, 1048576);
	assert_int_equal(timeline_get_region(tracked.timeline, region)->kind, REGION_IMPLICIT);
	assert_string_equal(name_of(&tracked, region), "Stack @1048512");
	assert_int_equal(find(&tracked, 1048576), region);
	assert_int_not_equal(find(&tracked, 1048577), region);
	tracked_release(&tracked);
}

static void an_implicit_region_grows_down_within_reach_of_its_lowest_pointer(void **state _unused_)
{
	struct tracked tracked;
	uint32_t region;

	tracked_init(&tracked);
	region = find(&tracked, 20480);
	assert_int_equal(find(&tracked, 10240), region);
	assert_int_equal(find(&tracked, 5000), region);
	assert_int_equal(timeline_get_region(tracked.timeline, region)->start, 5000);
	tracked_release(&tracked);
}

static void a_pointer_out_of_reach_starts_another_implicit_region(void **state _unused_)
{
	struct tracked tracked;
	uint32_t upper;
	uint32_t lower;

	tracked_init(&tracked);
	upper = find(&tracked, 40960);
	lower = find(&tracked, 40960 - 10241);
	assert_int_not_equal(upper, lower);
	assert_int_equal(timeline_get_region(tracked.timeline, lower)->end, 32768);
	assert_string_equal(name_of(&tracked, lower), "Stack @30719");
	assert_int_equal(find(&tracked, 40960 - 10240), lower);
	assert_int_equal(find(&tracked, 33000), upper);
	tracked_release(&tracked);
}

static void a_declared_region_goes_before_an_implicit_one(void **state _unused_)
{
	struct tracked tracked;
	uint32_t implicit;
	uint32_t declared;

	tracked_init(&tracked);
	implicit = find(&tracked, 0x3800);
	declared = tracked_declare(&tracked, 0x2000, 0x4000);
	assert_int_equal(find(&tracked, 0x3800), declared);
	assert_int_equal(find(&tracked, 0x1800), implicit);
	tracked_release(&tracked);
}

static void the_ends_of_memory_are_regions_too(void **state _unused_)
{
	struct tracked tracked;
	uint32_t region;

	tracked_init(&tracked);
	region = find(&tracked, 0);
	assert_int_equal(timeline_get_region(tracked.timeline, region)->end, 4096);
	region = find(&tracked, UINT64_MAX);
	assert_true(timeline_get_region(tracked.timeline, region)->end == UINT64_MAX);
	assert_int_equal(find(&tracked, UINT64_MAX - 4096), region);
	region = tracked_declare(&tracked, UINT64_MAX - 20000, UINT64_MAX);
	assert_int_equal(find(&tracked, UINT64_MAX), region);
	tracked_release(&tracked);
}

/* Every pointer, in whatever order, lies inside the region it is given. */
static void every_pointer_lies_in_its_region(void **state _unused_)
{
	struct tracked tracked;
	uint64_t random = 88172645463325252ull;

	tracked_init(&tracked);
	tracked_declare(&tracked, 100000, 160000);
	for (int i = 0; i < 20000; i++) {
		uint64_t pointer = builder_random(&random, 400000);
		const struct stack_region *region =
			timeline_get_region(tracked.timeline, find(&tracked, pointer));

		assert_true(region->start <= pointer && pointer <= region->end);
		assert_true(region->start < region->end || region->kind == REGION_IMPLICIT);
	}
	tracked_release(&tracked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pointer_belongs_to_the_declared_region_around_it),
		cmocka_unit_test(a_pointer_to_the_end_is_one_to_an_empty_stack),
		cmocka_unit_test(where_two_regions_touch_the_pointer_is_in_the_upper_one),
		cmocka_unit_test(the_end_of_a_declared_region_is_rounded_up),
		cmocka_unit_test(exact_bounds_are_kept_and_may_share_a_page),
		cmocka_unit_test(declared_regions_must_not_overlap),
		cmocka_unit_test(a_removed_region_makes_room_for_another),
		cmocka_unit_test(
			an_implicit_region_ends_at_the_next_page_and_has_its_first_pointers_name),
		cmocka_unit_test(an_implicit_region_grows_down_within_reach_of_its_lowest_pointer),
		cmocka_unit_test(a_pointer_out_of_reach_starts_another_implicit_region),
		cmocka_unit_test(a_declared_region_goes_before_an_implicit_one),
		cmocka_unit_test(the_ends_of_memory_are_regions_too),
		cmocka_unit_test(every_pointer_lies_in_its_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
