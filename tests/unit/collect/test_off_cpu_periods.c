/* The arithmetic of a period of off-CPU time, which the BPF program does. */
#include <stdlib.h>

#include "base/attributes.h"
#include "unit.h"
#include "wire/off_cpu.h"

#define PERIOD 1000

static wire_u64 seed;

static struct wire_phase start(void)
{
	struct wire_phase phase = {0};

	wire_start_period(&phase, PERIOD, &seed);
	return phase;
}

static wire_u32 take(struct wire_phase *phase, wire_u64 duration_ns)
{
	wire_u32 num_periods = wire_take_periods(phase, duration_ns, PERIOD, &seed);

	assert_in_range(phase->until_ns, 0, 2 * PERIOD - 1);
	assert_in_range(phase->behind_ns, 1, PERIOD);
	return num_periods;
}

static void time_before_the_point_is_kept_for_the_next_wait(_unused_ void **state)
{
	struct wire_phase phase = {.until_ns = 600, .behind_ns = 400};

	assert_int_equal(take(&phase, 599), 0);
	assert_int_equal(phase.until_ns, 1);
	assert_int_equal(take(&phase, 1), 0);
	assert_int_equal(phase.until_ns, 0);
	assert_int_equal(take(&phase, 1), 1);
	/* The next point is in the next period. */
	assert_in_range(phase.until_ns, 399, 1398);
	assert_int_equal(phase.until_ns + phase.behind_ns, 399 + PERIOD);
}

static void a_period_that_ends_with_a_wait_is_over(_unused_ void **state)
{
	struct wire_phase phase = {.until_ns = 600, .behind_ns = 400};

	assert_int_equal(take(&phase, 1000), 1);
	assert_int_equal(phase.until_ns + phase.behind_ns, PERIOD);
}

static void a_long_wait_stands_for_all_points_in_it(_unused_ void **state)
{
	for (int i = 0; i < 1000; i++) {
		struct wire_phase phase = {.until_ns = 600, .behind_ns = 400};

		/* The first period, eleven more, and half of another. */
		assert_in_range(take(&phase, 12500), 12, 13);
	}
}

/* Chance is 5 standard deviations wide: below one in a million. */
static void a_wait_weighs_its_duration_on_average(_unused_ void **state)
{
	const int num_runs = 20000;

	for (wire_u64 duration = 0; duration < 3 * PERIOD; duration += 137) {
		int64_t sum = 0;

		for (int i = 0; i < num_runs; i++) {
			struct wire_phase phase = start();

			(void)take(&phase, (wire_u64)(drand48() * 5 * PERIOD));
			sum += take(&phase, duration);
		}
		/* Of both ends of the wait, each is before or behind a point: less than 1 in variance. */
		assert_in_range(sum * PERIOD + 708000, (int64_t)duration * num_runs,
				(int64_t)duration * num_runs + 2 * 708000);
	}
}

static void all_waits_of_a_thread_weigh_their_sum_but_for_one_period(_unused_ void **state)
{
	struct wire_phase phase = start();
	wire_u64 sum = 0;
	wire_u64 num_periods = 0;

	for (int i = 0; i < 10000; i++) {
		wire_u64 duration = (wire_u64)(drand48() * 3000);

		sum += duration;
		num_periods += take(&phase, duration);
		assert_true(num_periods * PERIOD < sum + PERIOD);
		assert_true(num_periods * PERIOD + PERIOD > sum);
	}
}

/* A thread that sleeps for 600 and queues for 400 again and again is not always met in one of them. */
static void waits_as_long_as_the_period_are_met_at_all_places(_unused_ void **state)
{
	const int num_waits = 10000;
	struct wire_phase phase = start();
	int asleep = 0;
	int queued = 0;

	for (int i = 0; i < num_waits; i++) {
		asleep += (int)take(&phase, 600);
		queued += (int)take(&phase, 400);
	}
	assert_in_range(asleep + queued, num_waits - 1, num_waits + 1);
	/* 5 sqrt(10000 * 0.6 * 0.4) */
	assert_in_range(asleep, 6000 - 245, 6000 + 245);
}

static void more_periods_than_a_sample_can_hold_are_the_next_ones(_unused_ void **state)
{
	const wire_u64 most = UINT32_MAX;
	struct wire_phase phase = {.until_ns = 0, .behind_ns = PERIOD};
	wire_u64 num_periods = take(&phase, (most + 50) * PERIOD);

	assert_in_range(num_periods, most - 1, most);
	assert_true(phase.excess_ns > 0);
	num_periods += take(&phase, 2 * PERIOD);
	assert_in_range(num_periods, most + 50 + 1, most + 50 + 3);
	assert_int_equal(phase.excess_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_before_the_point_is_kept_for_the_next_wait),
		cmocka_unit_test(a_period_that_ends_with_a_wait_is_over),
		cmocka_unit_test(a_long_wait_stands_for_all_points_in_it),
		cmocka_unit_test(a_wait_weighs_its_duration_on_average),
		cmocka_unit_test(all_waits_of_a_thread_weigh_their_sum_but_for_one_period),
		cmocka_unit_test(waits_as_long_as_the_period_are_met_at_all_places),
		cmocka_unit_test(more_periods_than_a_sample_can_hold_are_the_next_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
