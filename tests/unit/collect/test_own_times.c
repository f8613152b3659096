#include "collect/kernel/own_times.h"

#include "base/attributes.h"
#include "unit.h"

static void add(struct own_times *times, const struct own_time_reading *reading)
{
	struct own_time_reading *added = array_add(&times->readings);

	assert_non_null(added);
	*added = *reading;
}

static struct program_time subtract(const struct own_time_reading *start,
				    const struct own_time_reading *end)
{
	struct own_times before = {0};
	struct own_times after = {0};
	struct program_time time;

	add(&before, start);
	add(&after, end);
	time = own_times_subtract(&before, &after);
	own_times_release(&before);
	own_times_release(&after);
	return time;
}

/* 6,400 runs, of which 100 were timed: 200 ns each. */
static const struct own_time_reading at_start = {
	.sampled = {.num_runs = 100, .runs_left = 30, .num_timed = 1, .timed_ns = 1000},
};
static const struct own_time_reading at_end = {
	.sampled = {.num_runs = 6480, .runs_left = 10, .num_timed = 101, .timed_ns = 21000},
};

static void runs_that_are_timed_stand_for_all(void **state _unused_)
{
	struct program_time time = subtract(&at_start, &at_end);

	assert_int_equal(time.num_runs, 6400);
	assert_int_equal(time.ns, 6400 * 200);
	assert_int_equal(time.sampled_ns, time.ns);
	assert_true(time.is_sampled);
}

static void the_kernels_statistics_are_preferred(void **state _unused_)
{
	struct own_time_reading start = at_start;
	struct own_time_reading end = at_end;
	struct program_time time;

	start.measured_ns = 5000;
	start.num_measured = 10;
	end.measured_ns = 1005000;
	end.num_measured = 6410;
	time = subtract(&start, &end);
	assert_int_equal(time.num_runs, 6400);
	assert_int_equal(time.ns, 1000000);
	assert_int_equal(time.sampled_ns, 6400 * 200);
	assert_false(time.is_sampled);
}

static void statistics_of_a_part_of_the_time_are_not_taken(void **state _unused_)
{
	struct own_time_reading end = at_end;
	struct program_time time;

	end.measured_ns = 500000;
	end.num_measured = 3200;
	time = subtract(&at_start, &end);
	assert_int_equal(time.num_runs, 6400);
	assert_int_equal(time.ns, 6400 * 200);
	assert_true(time.is_sampled);
}

/* Runs that are going on at either end are in one count alone. */
static void statistics_may_lack_one_run_in_a_hundred(void **state _unused_)
{
	for (uint64_t missing = 64; missing <= 65; missing++) {
		struct own_time_reading end = at_end;
		struct program_time time;

		end.measured_ns = 500000;
		end.num_measured = 6400 - missing;
		time = subtract(&at_start, &end);
		assert_int_equal(time.is_sampled, missing > 64);
		assert_int_equal(time.ns, missing > 64 ? 6400 * 200 : 500000);
		assert_int_equal(time.num_runs, missing > 64 ? 6400 : 6336);
	}
}

static void programs_that_did_not_run_took_no_time(void **state _unused_)
{
	struct program_time time = subtract(&at_end, &at_end);

	assert_int_equal(time.num_runs, 0);
	assert_int_equal(time.ns, 0);
	assert_false(time.is_sampled);
}

static void several_objects_are_added_up(void **state _unused_)
{
	struct own_times before = {0};
	struct own_times after = {0};
	struct program_time time;

	add(&before, &at_start);
	add(&after, &at_end);
	add(&after, &(struct own_time_reading){.measured_ns = 700, .num_measured = 7});
	/* Nothing of it was timed. */
	add(&after, &(struct own_time_reading){.sampled = {.num_runs = 9, .runs_left = 4}});
	time = own_times_subtract(&before, &after);
	assert_int_equal(time.num_runs, 6400 + 7 + 5);
	assert_int_equal(time.ns, 6400 * 200 + 700);
	assert_true(time.is_sampled);
	own_times_release(&before);
	own_times_release(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_that_are_timed_stand_for_all),
		cmocka_unit_test(the_kernels_statistics_are_preferred),
		cmocka_unit_test(statistics_of_a_part_of_the_time_are_not_taken),
		cmocka_unit_test(statistics_may_lack_one_run_in_a_hundred),
		cmocka_unit_test(programs_that_did_not_run_took_no_time),
		cmocka_unit_test(several_objects_are_added_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
