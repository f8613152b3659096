/* Threads that slept throughout: told by a frame, counted, and told apart from the others. */
#include "analysis/sleepers.h"

#include <errno.h>

#include "profile_builder.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void threads_are_counted_once_and_weighed(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t first = builder_add_thread(profile, 1, 2, "web");
	uint32_t second = builder_add_thread(profile, 1, 3, "web");
	uint32_t awake = builder_add_thread(profile, 1, 4, "web");
	struct sleepers sleepers;

	builder_add_sample(profile, first, SLEPT_FRAME_NAME ";main;poll", 10);
	builder_add_sample(profile, first, SLEPT_FRAME_NAME ";main;read", 5);
	builder_add_sample(profile, second, SLEPT_FRAME_NAME ";main;poll", 10);
	builder_add_sample(profile, awake, "main;poll", 7);
	assert_int_equal(sleepers_find(profile, 0, NULL, &sleepers), 0);
	assert_true(sleepers.exist);
	assert_int_equal(sleepers.num_threads, 2);
	assert_int_equal(sleepers.weight, 25);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(selection_contains(&sleepers.awake, i), i == 3);
	sleepers_release(&sleepers);
	profile_free(profile);
}

static void what_is_not_selected_does_not_count(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t first = builder_add_thread(profile, 1, 2, "web");
	uint32_t second = builder_add_thread(profile, 1, 3, "web");
	uint8_t is_selected[] = {0, 1, 0};
	struct selection selection = {.is_selected = is_selected, .num_samples = 3};
	struct sleepers sleepers;

	builder_add_sample(profile, first, SLEPT_FRAME_NAME ";main;poll", 10);
	builder_add_sample(profile, second, SLEPT_FRAME_NAME ";main;read", 5);
	builder_add_sample(profile, second, "main", 7);
	assert_int_equal(sleepers_find(profile, 0, &selection, &sleepers), 0);
	assert_int_equal(sleepers.num_threads, 1);
	assert_int_equal(sleepers.weight, 5);
	assert_false(selection_contains(&sleepers.awake, 2));
	sleepers_release(&sleepers);
	is_selected[1] = 0;
	assert_int_equal(sleepers_find(profile, 0, &selection, &sleepers), 0);
	assert_false(sleepers.exist);
	sleepers_release(&sleepers);
	profile_free(profile);
}

static void a_metric_that_they_have_nothing_of_has_none(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 2, "web");
	struct sleepers sleepers;

	builder_add_sample(profile, thread, SLEPT_FRAME_NAME ";main", 10);
	assert_int_equal(sleepers_find(profile, 1, NULL, &sleepers), 0);
	assert_false(sleepers.exist);
	sleepers_release(&sleepers);
	profile_free(profile);
}

/* Folded text has the thread's name as a frame, and no ids. */
static void threads_without_ids_are_not_counted(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	struct sleepers sleepers;

	builder_add_sample(profile, thread, "web;" SLEPT_FRAME_NAME ";main", 10);
	builder_add_sample(profile, thread, "web;main", 1);
	assert_int_equal(sleepers_find(profile, 0, NULL, &sleepers), 0);
	assert_true(sleepers.exist);
	assert_int_equal(sleepers.num_threads, 0);
	assert_int_equal(sleepers.weight, 10);
	sleepers_release(&sleepers);
	profile_free(profile);
}

static void without_them_there_is_nothing(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 2, "web");
	struct sleepers sleepers;

	builder_add_sample(profile, thread, "main", 10);
	assert_int_equal(sleepers_find(profile, 0, NULL, &sleepers), 0);
	assert_false(sleepers.exist);
	sleepers_release(&sleepers);
	profile_free(profile);
}

static void a_sum_beyond_64_bits_is_refused(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 2, "web");
	struct sleepers sleepers;

	builder_add_sample(profile, thread, SLEPT_FRAME_NAME ";main", UINT64_MAX);
	builder_add_sample(profile, thread, SLEPT_FRAME_NAME ";other", 1);
	assert_int_equal(sleepers_find(profile, 0, NULL, &sleepers), -EOVERFLOW);
	sleepers_release(&sleepers);
	profile_free(profile);
}

static void they_are_one_row_of_the_table_and_none_of_their_functions(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t sleeper = builder_add_thread(profile, 1, 2, "web");
	uint32_t awake = builder_add_thread(profile, 1, 3, "web");
	struct sleepers sleepers;
	struct frame_tree tree;
	struct flat_table table;

	builder_add_sample(profile, sleeper, SLEPT_FRAME_NAME ";main;poll", 10);
	builder_add_sample(profile, awake, "main;read", 4);
	assert_int_equal(frame_tree_init(&tree, profile), 0);
	assert_int_equal(sleepers_find(profile, 0, NULL, &sleepers), 0);
	assert_int_equal(sleepers_group(&sleepers, &tree, 0, NULL, &table), 0);
	assert_int_equal(table.num_rows, 3);
	assert_int_equal(table.sum, 14);
	assert_string_equal(table.rows[0].function, SLEPT_FRAME_NAME);
	assert_int_equal(table.rows[0].self, 10);
	assert_string_equal(table.rows[1].function, "read");
	assert_string_equal(table.rows[2].function, "main");
	assert_int_equal(table.rows[2].total, 4);
	flat_table_release(&table);
	sleepers_release(&sleepers);
	frame_tree_release(&tree);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_counted_once_and_weighed),
		cmocka_unit_test(what_is_not_selected_does_not_count),
		cmocka_unit_test(a_metric_that_they_have_nothing_of_has_none),
		cmocka_unit_test(threads_without_ids_are_not_counted),
		cmocka_unit_test(without_them_there_is_nothing),
		cmocka_unit_test(a_sum_beyond_64_bits_is_refused),
		cmocka_unit_test(they_are_one_row_of_the_table_and_none_of_their_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
