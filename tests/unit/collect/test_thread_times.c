#include "collect/processes/thread_times.h"

#include <errno.h>

#include "failing_memory.h"
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

static void a_thread_counts_from_its_start_to_its_end(void **state)
{
	assert_int_equal(thread_times_start(*state, 1200, 10, 11), 0);
	assert_int_equal(thread_times_add_sample(*state, 10, 11), 0);
	thread_times_end(*state, 1500, 10, 11);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 300);
	/* As much of it as is asked for. */
	assert_int_equal(thread_times_sum_ns(*state, 1400, 2000), 100);
	assert_int_equal(thread_times_sum_ns(*state, 1600, 2000), 0);
}

static void threads_without_samples_do_not_count(void **state)
{
	assert_int_equal(thread_times_start(*state, 1200, 10, 11), 0);
	thread_times_end(*state, 1500, 10, 11);
	thread_times_end(*state, 1500, 10, 12);
	assert_int_equal(thread_times_start(*state, 1600, 20, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 0);
}

static void a_tid_may_be_used_again(void **state)
{
	assert_int_equal(thread_times_add_sample(*state, 10, 11), 0);
	thread_times_end(*state, 1100, 10, 11);
	assert_int_equal(thread_times_start(*state, 1500, 20, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 100);
	assert_int_equal(thread_times_add_sample(*state, 20, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 100 + 500);
	/* The end was lost. */
	assert_int_equal(thread_times_start(*state, 1800, 30, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 100 + 300);
}

static void an_end_before_another_sample_is_none(void **state)
{
	assert_int_equal(thread_times_start(*state, 1200, 10, 11), 0);
	thread_times_end(*state, 1300, 10, 11);
	assert_int_equal(thread_times_add_sample(*state, 10, 11), 0);
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 800);
	thread_times_end(*state, 1900, 99, 11); /* another process's */
	assert_int_equal(thread_times_sum_ns(*state, 1000, 2000), 800);
}

/* Call again until there is memory. */
static void start_in_short_memory(struct thread_times *times, uint64_t time_ns, uint32_t pid,
				  uint32_t tid)
{
	for (int64_t num_before = 0;; num_before++) {
		int err;

		failing_memory_start(num_before);
		err = thread_times_start(times, time_ns, pid, tid);
		assert_int_equal(err, failing_memory_end() ? -ENOMEM : 0);
		if (!err)
			return;
	}
}

static void add_sample_in_short_memory(struct thread_times *times, uint32_t pid, uint32_t tid)
{
	for (int64_t num_before = 0;; num_before++) {
		int err;

		failing_memory_start(num_before);
		err = thread_times_add_sample(times, pid, tid);
		assert_int_equal(err, failing_memory_end() ? -ENOMEM : 0);
		if (!err)
			return;
	}
}

static void a_call_that_lacked_memory_can_be_made_again(void **state)
{
	struct thread_times *times;

	failing_memory_start(0);
	assert_null(thread_times_new());
	assert_true(failing_memory_end());
	times = *state;
	/* 40 threads, each for 100 ns, of which 20 have the tids of the others. */
	for (uint32_t i = 0; i < 40; i++) {
		start_in_short_memory(times, 1000 + 10 * i, i, i % 20);
		add_sample_in_short_memory(times, i, i % 20);
		thread_times_end(times, 1100 + 10 * i, i, i % 20);
	}
	assert_int_equal(thread_times_sum_ns(times, 1000, 5000), 40 * 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads_that_were_there_all_the_time_count_as_long,
						set_up_times, tear_down_times),
		cmocka_unit_test_setup_teardown(a_thread_counts_from_its_start_to_its_end,
						set_up_times, tear_down_times),
		cmocka_unit_test_setup_teardown(threads_without_samples_do_not_count, set_up_times,
						tear_down_times),
		cmocka_unit_test_setup_teardown(a_tid_may_be_used_again, set_up_times,
						tear_down_times),
		cmocka_unit_test_setup_teardown(an_end_before_another_sample_is_none, set_up_times,
						tear_down_times),
		cmocka_unit_test_setup_teardown(a_call_that_lacked_memory_can_be_made_again,
						set_up_times, tear_down_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
