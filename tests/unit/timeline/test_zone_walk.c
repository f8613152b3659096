#include "timeline/zone_tracker.h"

#include <string.h>

#include "timeline/timeline_builder.h"

static void assert_step(struct zone_walk *walk, uint32_t zone, bool is_end, uint64_t time_ns,
			uint64_t fill_bytes)
{
	struct zone_step step;

	assert_true(zone_walk_next(walk, &step));
	assert_int_equal(step.zone, zone);
	assert_int_equal(step.is_end, is_end);
	assert_int_equal(step.time_ns, time_ns);
	assert_int_equal(step.fill_bytes, fill_bytes);
}

static void starts_and_ends_alternate_as_they_happened(void **state _unused_)
{
	struct tracked tracked;
	struct zone_walk walk;
	struct zone_step step;

	tracked_init(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	tracked_start(&tracked, 7900, 0, 10);
	tracked_end(&tracked, 7900, 10);
	tracked_start(&tracked, 7800, 0, 10);
	tracked_end(&tracked, 7800, 20);
	tracked_end(&tracked, 8000, 20);
	assert_int_equal(zone_walk_init(&walk, tracked.timeline), 0);
	assert_step(&walk, 0, false, 10, 192);
	assert_step(&walk, 1, false, 10, 292);
	assert_step(&walk, 1, true, 10, 192);
	assert_step(&walk, 2, false, 10, 392);
	assert_step(&walk, 2, true, 20, 192);
	assert_step(&walk, 0, true, 20, 0);
	assert_false(zone_walk_next(&walk, &step));
	assert_false(zone_walk_next(&walk, &step));
	zone_walk_release(&walk);
	tracked_release(&tracked);
}

/* As in a text, where what is declared comes first. */
static void what_is_left_ends_on_declared_regions_first(void **state _unused_)
{
	struct tracked tracked;
	struct zone_walk walk;
	struct zone_step step;

	tracked_init(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	tracked_declare(&tracked, 0x10000, 0x20000);
	tracked_start(&tracked, 0x1f000, 0, 20);
	tracked_finish(&tracked, 30);
	assert_int_equal(zone_walk_init(&walk, tracked.timeline), 0);
	assert_step(&walk, 0, false, 10, 192);
	assert_step(&walk, 1, false, 20, 0x1000);
	assert_step(&walk, 1, true, 30, 0);
	assert_step(&walk, 0, true, 30, 0);
	assert_false(zone_walk_next(&walk, &step));
	zone_walk_release(&walk);
	tracked_release(&tracked);
}

static void an_empty_timeline_has_no_steps(void **state _unused_)
{
	struct timeline *timeline = timeline_new();
	struct zone_walk walk;
	struct zone_step step;

	assert_int_equal(zone_walk_init(&walk, timeline), 0);
	assert_false(zone_walk_next(&walk, &step));
	zone_walk_release(&walk);
	timeline_free(timeline);
}

/* Every start has its end, per region ends come in reverse order, and time never runs back. */
static void check_random_program(uint64_t seed)
{
	struct tracked tracked;
	struct zone_walk walk;
	struct zone_step step;
	uint32_t innermost[64];
	uint64_t last_ns[64] = {0};
	uint64_t fill[64] = {0};
	uint32_t starts = 0;
	uint32_t ends = 0;

	memset(innermost, 0xff, sizeof(innermost));
	tracked_init(&tracked);
	tracked_run_random_program(&tracked, seed, 2000);
	assert_int_equal(zone_walk_init(&walk, tracked.timeline), 0);
	while (zone_walk_next(&walk, &step)) {
		const struct zone *zone = timeline_get_zone(tracked.timeline, step.zone);

		assert_true(zone->region < ARRAY_LENGTH(innermost));
		assert_true(step.time_ns >= last_ns[zone->region]);
		assert_int_equal(innermost[zone->region], step.is_end ? step.zone : zone->parent);
		innermost[zone->region] = step.is_end ? zone->parent : step.zone;
		last_ns[zone->region] = step.time_ns;
		fill[zone->region] = step.fill_bytes;
		starts += !step.is_end;
		ends += step.is_end;
	}
	assert_int_equal(starts, timeline_count_zone(tracked.timeline));
	assert_int_equal(ends, starts);
	for (size_t i = 0; i < ARRAY_LENGTH(fill); i++)
		assert_int_equal(fill[i], 0);
	zone_walk_release(&walk);
	tracked_release(&tracked);
}

static void every_start_has_its_end_in_any_program(void **state _unused_)
{
	for (uint64_t seed = 1; seed <= 50; seed++)
		check_random_program(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_and_ends_alternate_as_they_happened),
		cmocka_unit_test(what_is_left_ends_on_declared_regions_first),
		cmocka_unit_test(an_empty_timeline_has_no_steps),
		cmocka_unit_test(every_start_has_its_end_in_any_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
