#include "collect/thread_times.h"

#include "unit.h"

static int set_up_times(void **state)
{
	*state = thread_times_new();
	return *state ? 0 : -1;
}

static int tear_down_times(void **state)
{
	thread_times_free(*state);
	return 0;
}

static void threads_that_were_there_all_the_time_count_as_long(void **state)
{
	for (uint32_t tid = 10; tid < 18; tid++) {
		assert_int_equal(thread_times_add_sample(*state, 10, tid), 0);
		assert_int_equal(thread_times_add_sample(*state, 10, tid), 0);
	}
	assert_int_equal(thread_times_sum_ns(*state, 1000, 5250), 8 * 4250);
}

static void a_thread_counts_from_its_begin_to_its_end(void **state)
{
	assert_int_equal(thread_times_begin(*state, 1200, 10, 11), 0);
	assert_int_equal(thread_times_add_sample(*state, 10, 11), 0);
	thread_times_end(*state, 1500, 10, 11);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 300);
	/* As much of it as is asked for. */
	assert_int_equal(thread_times_sum_ns(*state, 1400, 2000), 100);
	assert_int_equal(thread_times_sum_ns(*state, 1600, 2000), 0);
}

static void threads_without_samples_do_not_count(void **state)
{
	assert_int_equal(thread_times_begin(*state, 1200, 10, 11), 0);
	thread_times_end(*state, 1500, 10, 11);
	thread_times_end(*state, 1500, 10, 12);
	assert_int_equal(thread_times_begin(*state, 1600, 20, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 0);
}

static void a_tid_may_be_used_again(void **state)
{
	assert_int_equal(thread_times_add_sample(*state, 10, 11), 0);
	thread_times_end(*state, 1100, 10, 11);
	assert_int_equal(thread_times_begin(*state, 1500, 20, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 100);
	assert_int_equal(thread_times_add_sample(*state, 20, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 100 + 500);
	/* The end was lost. */
	assert_int_equal(thread_times_begin(*state, 1800, 30, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 100 + 300);
}

static void an_end_before_another_sample_is_none(void **state)
{
	assert_int_equal(thread_times_begin(*state, 1200, 10, 11), 0);
	thread_times_end(*state, 1300, 10, 11);
	assert_int_equal(thread_times_add_sample(*state, 10, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 800);
	thread_times_end(*state, 1900, 99, 11); /* another process's */
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 800);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads_that_were_there_all_the_time_count_as_long,
						set_up_times, tear_down_times),
		cmocka_unit_test_setup_teardown(a_thread_counts_from_its_begin_to_its_end,
						set_up_times, tear_down_times),
		cmocka_unit_test_setup_teardown(threads_without_samples_do_not_count, set_up_times,
						tear_down_times),
		cmocka_unit_test_setup_teardown(a_tid_may_be_used_again, set_up_times,
						tear_down_times),
		cmocka_unit_test_setup_teardown(an_end_before_another_sample_is_none, set_up_times,
						tear_down_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
