#include "analysis/exact_test.h"

#include <math.h>
#include <stdint.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_near(double actual, double expected)
{
	assert_true(actual > expected - 1e-9 && actual < expected + 1e-9);
}

static double get_chance(double before, double all_before, double after, double all_after)
{
	return exact_test_get_chance(&(struct exact_counts){before, after, all_before, all_after});
}

/* Fisher's lady: of eight cups four are of one kind, and three of these were recognised. */
static void the_lady_tasting_tea(void **state _unused_)
{
	struct exact_counts counts = {3, 1, 4, 4};

	assert_near(get_chance(3, 4, 1, 4), 2 * (16 / 70.0 / 2 + 1 / 70.0));
	assert_near(get_chance(4, 4, 0, 4), 2 * (1 / 70.0 / 2));
	assert_near(exact_test_get_least_chance(&counts), 1 / 70.0);
}

static void both_directions_are_the_same(void **state _unused_)
{
	assert_near(get_chance(30, 500, 60, 1000), get_chance(60, 1000, 30, 500));
	assert_near(get_chance(10, 500, 60, 1000), get_chance(60, 1000, 10, 500));
}

static void what_is_as_expected_is_chance(void **state _unused_)
{
	assert_true(get_chance(50, 1000, 500, 10000) > 0.9);
	assert_near(get_chance(1000, 1000, 10000, 10000), 1);
	assert_near(get_chance(0, 1000, 0, 10000), 1);
}

static void nothing_known_is_chance(void **state _unused_)
{
	assert_near(get_chance(0, 0, 5, 10), 1);
	assert_near(get_chance(5, 10, 0, 0), 1);
}

static void chance_shrinks_as_the_change_grows(void **state _unused_)
{
	double last = 1.1;

	for (double after = 100; after <= 1000; after += 50) {
		double chance = get_chance(100, 1000, after, 1000);

		assert_true(chance < last || chance == 0);
		assert_true(chance >= 0);
		last = chance;
	}
}

/* Weights of a long recording: neither overflow nor a wait. */
static void large_numbers_are_taken(void **state _unused_)
{
	assert_true(get_chance(5e8, 1e10, 5.001e8, 1e10) < 0.05);
	assert_true(get_chance(5e8, 1e10, 5.0001e8, 1e10) > 0.05);
	assert_true(get_chance(1, 1e10, 9e9, 1e10) < 1e-300);
	assert_true(get_chance(3e8, 1e9, 7e8, 1e9) < 1e-300);
	assert_near(get_chance(3e15, 1e16, 3e15, 1e16), 1);
	assert_true(get_chance(3e15, 1e16, 7e15, 1e16) < 1e-300);
	assert_true(get_chance(0x1p63, 0x1p64, 1, 0x1p64) < 1e-300);
	assert_near(exact_test_get_least_chance(&(struct exact_counts){3e15, 7e15, 1e16, 1e16}), 0);
}

/* Just below the limit, where it is exact, it is that of the normal distribution. */
static void large_numbers_have_the_same_chance(void **state _unused_)
{
	double chance = get_chance(1e8 + 2e4, 1e9, 1e8, 1e9);

	assert_true(fabs(chance - erfc(1e4 / sqrt(9e7))) < 1e-3);
}

/* One sample of two recordings of the same length is in one of them for certain. */
static void few_samples_cannot_be_a_change(void **state _unused_)
{
	assert_near(exact_test_get_least_chance(&(struct exact_counts){1, 0, 500, 500}), 0.5);
	assert_near(exact_test_get_least_chance(&(struct exact_counts){0, 1, 100, 900}), 0.1);
	assert_near(exact_test_get_least_chance(&(struct exact_counts){500, 500, 500, 500}), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lady_tasting_tea),
		cmocka_unit_test(both_directions_are_the_same),
		cmocka_unit_test(what_is_as_expected_is_chance),
		cmocka_unit_test(nothing_known_is_chance),
		cmocka_unit_test(chance_shrinks_as_the_change_grows),
		cmocka_unit_test(large_numbers_are_taken),
		cmocka_unit_test(large_numbers_have_the_same_chance),
		cmocka_unit_test(few_samples_cannot_be_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
