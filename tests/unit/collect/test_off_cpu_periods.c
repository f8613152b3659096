/* The arithmetic of a period of off-CPU time, which the BPF program does. */
#include <stdlib.h>

#include "base/attributes.h"
#include "unit.h"
#include "wire/off_cpu.h"

#define PERIOD 1000

static void time_below_the_period_is_kept_for_the_next_wait(_unused_ void **state)
{
	wire_u64 phase = 0;

	assert_int_equal(wire_take_periods(&phase, 999, PERIOD), 0);
	assert_int_equal(phase, 999);
	assert_int_equal(wire_take_periods(&phase, 1, PERIOD), 1);
	assert_int_equal(phase, 0);
}

static void a_long_wait_stands_for_all_periods_that_it_crosses(_unused_ void **state)
{
	wire_u64 phase = 600;

	assert_int_equal(wire_take_periods(&phase, 12500, PERIOD), 13);
	assert_int_equal(phase, 100);
}

static void a_wait_in_two_parts_weighs_as_much_as_in_one(_unused_ void **state)
{
	for (wire_u64 first = 0; first < 3 * PERIOD; first += 7) {
		wire_u64 phase = 431;
		wire_u64 phase_of_parts = 431;
		wire_u32 whole = wire_take_periods(&phase, 3 * PERIOD, PERIOD);
		wire_u32 parts = wire_take_periods(&phase_of_parts, first, PERIOD);

		parts += wire_take_periods(&phase_of_parts, 3 * PERIOD - first, PERIOD);
		assert_int_equal(parts, whole);
		assert_int_equal(phase_of_parts, phase);
	}
}

/* Over all phases, which is what a random one is on average. */
static void a_short_wait_weighs_its_duration_on_average(_unused_ void **state)
{
	for (wire_u64 duration = 0; duration < 3 * PERIOD; duration += 13) {
		wire_u64 num_periods = 0;

		for (wire_u64 first = 0; first < PERIOD; first++) {
			wire_u64 phase = first;

			num_periods += wire_take_periods(&phase, duration, PERIOD);
		}
		assert_int_equal(num_periods, duration);
	}
}

static void the_weight_of_many_waits_is_their_sum_but_for_one_period(_unused_ void **state)
{
	wire_u64 phase = 777;
	wire_u64 sum = 0;
	wire_u64 num_periods = 0;

	srand48(1);
	for (int i = 0; i < 10000; i++) {
		wire_u64 duration = (wire_u64)(drand48() * 3000);

		sum += duration;
		num_periods += wire_take_periods(&phase, duration, PERIOD);
		assert_true(phase < PERIOD);
		assert_true(num_periods * PERIOD < sum + PERIOD);
		assert_true(num_periods * PERIOD + PERIOD > sum);
	}
}

static void more_periods_than_a_sample_can_hold_are_left_to_the_next_one(_unused_ void **state)
{
	const wire_u64 most = UINT32_MAX;
	wire_u64 phase = 3;

	assert_int_equal(wire_take_periods(&phase, (most + 5) * PERIOD, PERIOD), most);
	assert_int_equal(wire_take_periods(&phase, 0, PERIOD), 5);
	assert_int_equal(phase, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_below_the_period_is_kept_for_the_next_wait),
		cmocka_unit_test(a_long_wait_stands_for_all_periods_that_it_crosses),
		cmocka_unit_test(a_wait_in_two_parts_weighs_as_much_as_in_one),
		cmocka_unit_test(a_short_wait_weighs_its_duration_on_average),
		cmocka_unit_test(the_weight_of_many_waits_is_their_sum_but_for_one_period),
		cmocka_unit_test(more_periods_than_a_sample_can_hold_are_left_to_the_next_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
