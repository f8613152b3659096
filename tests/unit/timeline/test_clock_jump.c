#include "timeline/timeline.h"

#include "unit.h"

static const struct clock_snapshot start = {
	.boottime_ns = 5000000000, .monotonic_ns = 4000000000, .realtime_ns = 1790000000000000000};

static bool has_jumped(int64_t boottime_ns, int64_t monotonic_ns, int64_t realtime_ns)
{
	struct clock_snapshot later = {
		.boottime_ns = start.boottime_ns + (uint64_t)boottime_ns,
		.monotonic_ns = start.monotonic_ns + (uint64_t)monotonic_ns,
		.realtime_ns = start.realtime_ns + (uint64_t)realtime_ns,
	};

	return clock_has_jumped(&start, &later);
}

static void clocks_that_go_on_together_have_not_jumped(void **state _unused_)
{
	assert_false(has_jumped(0, 0, 0));
	assert_false(has_jumped(3600000000000, 3600000000000, 3600000000000));
	assert_false(has_jumped(1000000, 1003000, 1900000));
}

static void a_machine_that_slept_has_jumped(void **state _unused_)
{
	assert_true(has_jumped(60000000000, 1000000000, 60000000000));
}

static void a_wall_clock_that_was_set_has_jumped(void **state _unused_)
{
	assert_true(has_jumped(1000000000, 1000000000, 3601000000000));
	assert_true(has_jumped(1000000000, 1000000000, -3599000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_go_on_together_have_not_jumped),
		cmocka_unit_test(a_machine_that_slept_has_jumped),
		cmocka_unit_test(a_wall_clock_that_was_set_has_jumped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
