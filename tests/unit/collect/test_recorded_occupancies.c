#include "collect/trace/recorded_occupancies.h"

#include <malloc.h>
#include <stdlib.h>

#include "test_folder.h"
#include "timeline/occupancy_builder.h"
#include "timeline/occupancy_walk.h"

static struct recorded_occupancies *record(struct timeline *timeline)
{
	struct recorded_occupancies *occupancies;

	assert_int_equal(recorded_occupancies_new(test_parent_folder(), &occupancies, NULL), 0);
	timeline_set_consumer(timeline, recorded_occupancies_get_consumer(occupancies));
	return occupancies;
}

static void what_is_recorded_is_what_a_timeline_would_hold(void **state _unused_)
{
	for (uint32_t seed = 0; seed < 30; seed++) {
		struct timeline *held = make_timeline();
		struct timeline *recorded = make_timeline();
		struct recorded_occupancies *occupancies = record(recorded);
		struct occupancy_walk expected;
		struct occupancy_walk walk;
		struct occupancy_step step;
		struct occupancy_step other;

		occupy_at_random(held, seed);
		occupy_at_random(recorded, seed);
		recorded_occupancies_give(occupancies, recorded);
		assert_int_equal(occupancy_walk_init(&expected, held), 0);
		assert_int_equal(occupancy_walk_init(&walk, recorded), 0);
		while (occupancy_walk_next(&expected, &step) > 0) {
			assert_int_equal(occupancy_walk_next(&walk, &other), 1);
			assert_int_equal(other.is_end, step.is_end);
			assert_int_equal(other.of.number, step.of.number);
			assert_int_equal(other.of.is_handed_over, step.of.is_handed_over);
			assert_memory_equal(&other.of.occupancy, &step.of.occupancy,
					    sizeof(step.of.occupancy));
		}
		assert_int_equal(occupancy_walk_next(&walk, &other), 0);
		occupancy_walk_release(&expected);
		occupancy_walk_release(&walk);
		timeline_free(held);
		timeline_free(recorded);
		recorded_occupancies_free(occupancies);
	}
}

static void the_last_one_of_a_thread_knows_who_comes_next_and_can_be_prolonged(
	void **state _unused_)
{
	struct timeline *timeline = make_timeline();
	struct recorded_occupancies *occupancies = record(timeline);
	struct occupancy_tracker *tracker = occupancy_tracker_new(timeline);
	struct ended_occupancy *last;
	struct occupancy occupancy;
	uint64_t position = 0;

	enter(tracker, 0, 0, 10);
	enter(tracker, 0, 1, 20);
	assert_int_equal(occupancy_tracker_leave(tracker, 0, 30), 0);
	enter(tracker, 1, 1, 50);
	assert_int_equal(occupancy_tracker_finish(tracker), 0);
	last = recorded_occupancies_get_last(occupancies, 0);
	assert_int_equal(last->numbered.occupancy.start_ns, 20);
	assert_true(last->has_next);
	assert_int_equal(last->next_ns, 50);
	assert_false(recorded_occupancies_get_last(occupancies, 1)->has_next);
	assert_null(recorded_occupancies_get_last(occupancies, 2));
	last->numbered.occupancy.end_ns = 40;
	recorded_occupancies_give(occupancies, timeline);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(timeline_next_occupancy(timeline, &position, &occupancy), 1);
	assert_int_equal(occupancy.end_ns, 40);
	occupancy_tracker_free(tracker);
	timeline_free(timeline);
	recorded_occupancies_free(occupancies);
}

static int64_t get_allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return (int64_t)(info.uordblks + info.hblkhd);
}

/* What `count` occupancies take when they were recorded, and while half of them are read. */
static int64_t measure(uint32_t count)
{
	int64_t before = get_allocated_bytes();
	struct timeline *timeline = make_timeline();
	struct recorded_occupancies *occupancies = record(timeline);
	struct occupancy_tracker *tracker = occupancy_tracker_new(timeline);
	struct occupancy_walk walk;
	struct occupancy_step step;
	int64_t taken;

	for (uint32_t i = 0; i < count; i++)
		enter(tracker, i % NUM_THREADS, i % NUM_REGIONS, i);
	assert_int_equal(occupancy_tracker_finish(tracker), 0);
	recorded_occupancies_give(occupancies, timeline);
	assert_int_equal(timeline_count_occupancy(timeline), 0);
	assert_int_equal(occupancy_walk_init(&walk, timeline), 0);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(occupancy_walk_next(&walk, &step), 1);
	taken = get_allocated_bytes() - before;
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(occupancy_walk_next(&walk, &step), 1);
	assert_int_equal(occupancy_walk_next(&walk, &step), 0);
	assert_true(walk.open.length <= NUM_THREADS);
	assert_int_equal(recorded_occupancies_get_counts(occupancies).kept, count);
	occupancy_walk_release(&walk);
	occupancy_tracker_free(tracker);
	timeline_free(timeline);
	recorded_occupancies_free(occupancies);
	return taken;
}

/* In an array 380,000 of them would be 12 MB. */
static void ten_times_as_many_take_no_more_memory(void **state _unused_)
{
	int64_t few = measure(40000);
	int64_t many = measure(400000);

	assert_true(many < few + (1 << 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_recorded_is_what_a_timeline_would_hold),
		cmocka_unit_test(
			the_last_one_of_a_thread_knows_who_comes_next_and_can_be_prolonged),
		cmocka_unit_test(ten_times_as_many_take_no_more_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
