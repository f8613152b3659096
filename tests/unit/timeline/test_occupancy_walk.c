#include "timeline/occupancy_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* clang-format off */
#include "occupancy_builder.h"
/* clang-format on */

static void occupy(struct timeline *timeline, uint32_t thread, uint32_t region, uint64_t start_ns,
		   uint64_t end_ns)
{
	struct occupancy occupancy = {
		.thread = thread, .region = region, .start_ns = start_ns, .end_ns = end_ns};

	assert_int_equal(timeline_add_occupancy(timeline, &occupancy, NULL), 0);
}

static void assert_step(struct occupancy_walk *walk, uint32_t number, bool is_end)
{
	struct occupancy_step step;

	assert_int_equal(occupancy_walk_next(walk, &step), 1);
	assert_int_equal(step.of.number, number);
	assert_int_equal(step.is_end, is_end);
}

static void assert_at_end(struct occupancy_walk *walk)
{
	struct occupancy_step step;

	assert_int_equal(occupancy_walk_next(walk, &step), 0);
	assert_int_equal(occupancy_walk_next(walk, &step), 0);
}

static void nothing_has_no_steps(void **state _unused_)
{
	struct timeline *timeline = make_timeline();
	struct occupancy_walk walk;

	assert_int_equal(occupancy_walk_init(&walk, timeline), 0);
	assert_at_end(&walk);
	occupancy_walk_release(&walk);
	timeline_free(timeline);
}

static void starts_and_ends_come_in_order_of_time(void **state _unused_)
{
	struct timeline *timeline = make_timeline();
	struct occupancy_walk walk;

	occupy(timeline, 1, 1, 20, 30);
	occupy(timeline, 2, 2, 15, 40);
	occupy(timeline, 0, 0, 10, 50);
	assert_int_equal(occupancy_walk_init(&walk, timeline), 0);
	assert_step(&walk, 2, false);
	assert_step(&walk, 1, false);
	assert_step(&walk, 0, false);
	assert_step(&walk, 0, true);
	assert_step(&walk, 1, true);
	assert_step(&walk, 2, true);
	assert_at_end(&walk);
	occupancy_walk_release(&walk);
	timeline_free(timeline);
}

/* Tracks would have slices in each other otherwise. */
static void at_one_moment_a_thread_leaves_passes_through_and_enters(void **state _unused_)
{
	struct timeline *timeline = make_timeline();
	struct occupancy_walk walk;

	occupy(timeline, 0, 2, 20, 30);
	occupy(timeline, 0, 1, 20, 20);
	occupy(timeline, 0, 0, 10, 20);
	assert_int_equal(occupancy_walk_init(&walk, timeline), 0);
	assert_step(&walk, 2, false);
	assert_step(&walk, 2, true);
	assert_step(&walk, 1, false);
	assert_step(&walk, 1, true);
	assert_step(&walk, 0, false);
	assert_step(&walk, 0, true);
	assert_at_end(&walk);
	occupancy_walk_release(&walk);
	timeline_free(timeline);
}

static void a_region_is_handed_over_to_another_thread_only(void **state _unused_)
{
	static const bool is_handed_over[] = {false, true, false};
	struct timeline *timeline = make_timeline();
	struct occupancy_walk walk;
	struct occupancy_step step;

	occupy(timeline, 0, 0, 10, 20);
	occupy(timeline, 0, 0, 30, 40);
	occupy(timeline, 1, 0, 50, 60);
	assert_int_equal(occupancy_walk_init(&walk, timeline), 0);
	while (occupancy_walk_next(&walk, &step) > 0)
		assert_int_equal(step.of.is_handed_over, is_handed_over[step.of.number]);
	occupancy_walk_release(&walk);
	timeline_free(timeline);
}

/* ---- a source ----------------------------------------------------------------------------- */

struct list {
	ARRAY(struct numbered_occupancy) items;
	size_t next;
	size_t fails_at;
};

static int rewind_list(void *context)
{
	((struct list *)context)->next = 0;
	return 0;
}

static int next_of_list(void *context, void *ret)
{
	struct list *list = context;

	if (list->next == list->fails_at)
		return -EIO;
	if (list->next == list->items.length)
		return 0;
	*(struct numbered_occupancy *)ret = list->items.items[list->next++];
	return 1;
}

static void set_source(struct timeline *timeline, struct list *list)
{
	struct timeline_source source = {
		.rewind = rewind_list, .next = next_of_list, .context = list};

	timeline_set_occupancies(timeline, &source);
}

/* The start of an occupancy is step 2 * number, its end the step behind. */
struct sorted_step {
	uint64_t time_ns;
	int rank;
	uint32_t step;
};

static int compare_steps(const void *a, const void *b)
{
	const struct sorted_step *left = a;
	const struct sorted_step *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank - right->rank;
	return (left->step > right->step) - (left->step < right->step);
}

/* All steps of a timeline, sorted at once. The caller frees them. */
static struct sorted_step *sort_steps(const struct timeline *timeline, uint32_t *ret_count)
{
	uint32_t count = 2 * timeline_count_occupancy(timeline);
	struct sorted_step *steps = calloc(count, sizeof(*steps));

	for (uint32_t i = 0; i < count; i++) {
		const struct occupancy *of = timeline_get_occupancy(timeline, i / 2);

		steps[i].time_ns = i % 2 ? of->end_ns : of->start_ns;
		steps[i].rank = of->start_ns == of->end_ns ? 1 : i % 2 ? 0 : 2;
		steps[i].step = i;
	}
	qsort(steps, count, sizeof(*steps), compare_steps);
	*ret_count = count;
	return steps;
}

static void assert_steps(const struct timeline *timeline, const struct sorted_step *steps,
			 uint32_t count)
{
	struct occupancy_walk walk;

	assert_int_equal(occupancy_walk_init(&walk, timeline), 0);
	for (uint32_t i = 0; i < count; i++)
		assert_step(&walk, steps[i].step / 2, steps[i].step % 2);
	assert_at_end(&walk);
	assert_true(walk.open.length <= NUM_REGIONS);
	occupancy_walk_release(&walk);
}

static void take_starts(const struct timeline *timeline, struct list *ret)
{
	struct occupancy_walk walk;
	struct occupancy_step step;

	assert_int_equal(occupancy_walk_init(&walk, timeline), 0);
	while (occupancy_walk_next(&walk, &step) > 0) {
		struct numbered_occupancy *added = step.is_end ? NULL : array_add(&ret->items);

		if (added)
			*added = step.of;
	}
	occupancy_walk_release(&walk);
}

static void a_source_walks_as_what_is_in_memory(void **state _unused_)
{
	for (uint32_t seed = 0; seed < 30; seed++) {
		struct timeline *timeline = make_timeline();
		struct list list = {.fails_at = SIZE_MAX};
		struct sorted_step *steps;
		struct occupancy first;
		uint64_t position = 0;
		uint32_t count;

		occupy_at_random(timeline, seed);
		steps = sort_steps(timeline, &count);
		assert_steps(timeline, steps, count);
		take_starts(timeline, &list);
		assert_int_equal(list.items.length, count / 2);
		set_source(timeline, &list);
		assert_int_equal(timeline_count_occupancy(timeline), 0);
		assert_steps(timeline, steps, count);
		assert_int_equal(timeline_next_occupancy(timeline, &position, &first), 1);
		assert_int_equal(first.start_ns, list.items.items[0].occupancy.start_ns);
		free(steps);
		array_release(&list.items);
		timeline_free(timeline);
	}
}

static void a_source_that_cannot_be_read_says_so(void **state _unused_)
{
	struct timeline *timeline = make_timeline();
	struct list list = {.fails_at = 2};
	struct occupancy_walk walk;
	struct occupancy_step step;
	int got;

	occupy_at_random(timeline, 1);
	take_starts(timeline, &list);
	set_source(timeline, &list);
	assert_int_equal(occupancy_walk_init(&walk, timeline), 0);
	while ((got = occupancy_walk_next(&walk, &step)) > 0)
		;
	assert_int_equal(got, -EIO);
	occupancy_walk_release(&walk);
	array_release(&list.items);
	timeline_free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_has_no_steps),
		cmocka_unit_test(starts_and_ends_come_in_order_of_time),
		cmocka_unit_test(at_one_moment_a_thread_leaves_passes_through_and_enters),
		cmocka_unit_test(a_region_is_handed_over_to_another_thread_only),
		cmocka_unit_test(a_source_walks_as_what_is_in_memory),
		cmocka_unit_test(a_source_that_cannot_be_read_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
